// Shows the Python source, and registers the service worker for visits without a network.

import { keepAll, prepareOffline } from "../shared/offline.js";
import { showSource } from "../shared/source.js";

await showSource(document.getElementById("code"), "main.py");
prepareOffline();
document.addEventListener("py:done", keepAll, { once: true });
