"""How Python reaches the JavaScript runtime (js_bridge): in the page, or over a wire to a GPU worker."""
