"""What the search page asks of the script: the nearest passages. Before the script, it gets the weights."""

import json
import os

import demo_runner


def answer(question):
    """JSON: {done} while the passages are read, {found: [[likeness, text], ...]} for a query afterwards."""
    query = json.loads(question).get("query")
    script = demo_runner.namespace()
    if query is None or "query" not in script:
        return json.dumps({"done": script.get("done", 0), "all": len(script.get("passages", ()))})
    found = script["search"](query)
    return json.dumps({"found": [[likeness, script["passages"][i]] for likeness, i in found]})


async def fetch(url, name, digest, tell):
    """Puts a file beside the script: out of the browser's storage, or from the network."""
    import torch

    if not os.path.exists(name):
        await torch.hub.download_url_to_file_async(
            url, name, digest, progress=lambda done, total: tell(done, total or 0)
        )
    return "null"


async def stored():
    """What torch.hub keeps in the browser."""
    import torch

    return json.dumps(await torch.hub.downloads_async())


async def remove(url):
    """Deletes a file from the browser's storage; the one beside the script stays until the page is closed."""
    import torch

    await torch.hub.remove_download_async(url)
    return "null"
