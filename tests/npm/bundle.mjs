// node bundle.mjs vite|webpack FOLDER OUT: builds the page in FOLDER as these bundlers do without settings.
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";

const [tool, folder, out] = process.argv.slice(2);

const bundlers = {
  async vite() {
    const { build } = await import("vite");
    await build({ root: folder, base: "./", configFile: false, logLevel: "warn", build: { outDir: out } });
  },
  async webpack() {
    const { default: webpack } = await import("webpack");
    const config = { mode: "production", context: folder, entry: "./main.js", performance: { hints: false } };
    const stats = await new Promise((resolve, reject) => {
      const output = { path: out, filename: "main.js" };
      webpack({ ...config, output }, (error, done) => (error ? reject(error) : resolve(done)));
    });
    if (stats.hasErrors() || stats.hasWarnings())
      throw new Error(stats.toString({ all: false, errors: true, warnings: true }));
    mkdirSync(out, { recursive: true });
    copyFileSync(join(folder, "index.html"), join(out, "index.html"));
  },
};
await bundlers[tool]();
