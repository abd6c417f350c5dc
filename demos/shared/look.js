// The worker's part of a demo page (see Engine): puts the page's own Python beside the script, writes its files, and
// passes the page's questions on. The page names that Python in this module's address: look.js?python=gpt/look.py.

const root = new URL("../", import.meta.url);
const python = new URL(import.meta.url).searchParams.get("python");

let pyodide;
let folder;
let post;
let look;
let weights;

export async function install(given) {
  ({ pyodide, folder, post } = given);
  for (const [name, path] of Object.entries({ demo_weights: "shared/weights.py", demo_look: python })) {
    pyodide.FS.writeFile(`/home/pyodide/${name}.py`, await (await fetch(new URL(path, root))).text());
  }
  look = pyodide.pyimport("demo_look");
  weights = pyodide.pyimport("demo_weights");
  return pyodide.pyimport("demo_runner");
}

export const requests = {
  /** `answer(question)` of the page's Python, as JSON or as bytes; `answer(question, bytes)` where the question has
   * bytes. It may come while the script runs. */
  look: {
    needsPython: true,
    whileRunning: true,
    ask({ bytes, ...question }) {
      const answer = look.answer(JSON.stringify(question), ...(bytes ? [new Uint8Array(bytes)] : []));
      if (typeof answer === "string") return JSON.parse(answer);
      const given = answer?.toJs();
      answer?.destroy();
      return given;
    },
  },
  write: {
    ask({ name, bytes }) {
      const path = `${folder}/${name}`;
      pyodide.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
      pyodide.FS.writeFile(path, new Uint8Array(bytes));
    },
  },
  read: { ask: ({ name }) => pyodide.FS.readFile(`${folder}/${name}`) },
  /** `name(...given)` of the page's Python, awaited. */
  call: { needsPython: true, ask: async ({ name, given = [] }) => JSON.parse(await look[name](...given)) },
  /** The same of shared/weights.py. */
  weights: { needsPython: true, ask: async ({ name, given = [] }) => JSON.parse(await weights[name](...given)) },
  /** Puts a file beside the script, by its address; "fetched" events say how far it is. */
  fetch: {
    needsPython: true,
    async ask({ url, name, digest }) {
      let last = 0;
      const tell = (done, total) => {
        if (done < total && performance.now() - last < 100) return;
        last = performance.now();
        post("fetched", { name, done, total });
      };
      await weights.fetch(url, name, digest, tell);
    },
  },
};
