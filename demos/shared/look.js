// The worker's part of a demo page (see Engine): puts the page's own Python beside the script, writes its files, and
// passes the page's questions on. The page names that Python in this module's address: look.js?python=gpt/look.py.

const root = new URL("../", import.meta.url);
const python = new URL(import.meta.url).searchParams.get("python");

let pyodide;
let folder;
let post;
let look;

export async function install(given) {
  ({ pyodide, folder, post } = given);
  pyodide.FS.writeFile("/home/pyodide/demo_look.py", await (await fetch(new URL(python, root))).text());
  look = pyodide.pyimport("demo_look");
  return pyodide.pyimport("demo_runner");
}

export const requests = {
  /** `answer(question)` of the page's Python, as JSON or as bytes. It may come while the script runs. */
  look: {
    needsPython: true,
    whileRunning: true,
    ask(question) {
      const answer = look.answer(JSON.stringify(question));
      if (typeof answer === "string") return JSON.parse(answer);
      const bytes = answer?.toJs();
      answer?.destroy();
      return bytes;
    },
  },
  write: { ask: ({ name, bytes }) => pyodide.FS.writeFile(`${folder}/${name}`, new Uint8Array(bytes)) },
  /** `name(...given)` of the page's Python, awaited. */
  call: { needsPython: true, ask: async ({ name, given = [] }) => JSON.parse(await look[name](...given)) },
  /** Gets a file by its address with the page's fetch(url, name, digest, tell); "fetched" events say how far it is. */
  fetch: {
    needsPython: true,
    async ask({ url, name, digest }) {
      let last = 0;
      const tell = (done, total) => {
        if (done < total && performance.now() - last < 100) return;
        last = performance.now();
        post("fetched", { name, done, total });
      };
      await look.fetch(url, name, digest, tell);
    },
  },
};
