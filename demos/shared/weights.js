// Published weights for a demo's script: fetched once, with progress, and kept in this browser by torch.hub
// (shared/weights.py). The page has the part {{weights}}.

import { progress, say } from "./demo.js";

const $ = (id) => document.getElementById(id);
const site = new URL("../", import.meta.url);
const list = await (await fetch(new URL("weights/list.json", site))).json();

const address = (name) => new URL(`weights/${name}`, site).href;
const mb = (bytes) => (bytes / 1e6).toFixed(1);

/** The weights of a page: `names` of files, of `size` in words. Returns what puts them beside the script. */
export function openWeights({ engine }, names, size) {
  engine.start().then(show, () => {});
  engine.addEventListener("fetched", ({ detail: { name, done, total } }) => {
    say(`Fetching ${name}`);
    $("amount").textContent = `${mb(done)} of ${mb(total)} MB`;
    progress(done, total);
  });
  $("forget").addEventListener("click", async () => {
    for (const name of names) await engine.request("weights", { name: "remove", given: [address(name)] });
    await show();
  });

  const lacking = !names.every((name) => list[name]);
  const advice = "This site was built without the model's weights: `make demo ARGS=--weights` builds it with them.";

  async function show() {
    if (lacking) {
      $("weights").textContent = advice;
      return;
    }
    const stored = await engine.request("weights", { name: "stored" });
    const ours = stored.filter(({ url }) => names.some((name) => url === address(name)));
    const there = ours.reduce((sum, { bytes }) => sum + bytes, 0);
    const whole = ours.length === names.length && ours.every(({ bytes, total }) => bytes === total);
    $("forget").hidden = !there;
    $("weights").textContent = whole
      ? `The weights are in this browser: ${mb(there)} MB.`
      : there
        ? `${mb(there)} MB of the weights are in this browser; Run fetches the rest.`
        : `Run fetches the model's weights first, ${size}, once; they stay in this browser.`;
  }

  return async () => {
    if (lacking) throw new Error(advice);
    for (const name of names) await engine.request("fetch", { url: address(name), name, digest: list[name] });
    await show();
    progress(0, 1, true);
    $("amount").textContent = "";
  };
}
