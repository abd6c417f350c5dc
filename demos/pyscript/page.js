// Shows the Python source, and registers the service worker for visits without a network.

import { keepAll, prepareOffline } from "../shared/offline.js";

document.getElementById("code").textContent = await (await fetch("main.py")).text();
prepareOffline();
document.addEventListener("py:done", keepAll, { once: true });
