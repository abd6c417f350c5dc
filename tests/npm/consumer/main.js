// What a page that uses the npm package with a bundler does: a call in the window, and one in a worker.
import { load } from "torchlite";

async function main() {
  const indexURL = new URLSearchParams(location.search).get("pyodide");
  const here = await load({ indexURL });
  const there = await load({ indexURL, worker: true });
  const x = here.ones(3).add(1).sum().item();
  const y = await there.ones(3).mul(2).sum().item();
  there.terminate();
  return `${x} ${y}`;
}

main().then(
  (text) => (document.title = `done ${text}`),
  (error) => (document.title = `failed ${error.stack}`),
);
