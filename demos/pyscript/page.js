// Shows the Python source, and registers the service worker for visits without a network.

import { prepareOffline } from "../shared/offline.js";

document.getElementById("code").textContent = await (await fetch("main.py")).text();
prepareOffline();
