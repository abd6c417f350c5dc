import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Outcome } from "./browser_page";

/** Describes the driver to use; without a Vulkan driver there is nothing to test in a browser either. */
const icd = process.env["VK_ICD_FILENAMES"] ?? "";
const vulkan = existsSync(icd.split(":")[0] ?? "");
const has = (program: string): boolean => spawnSync("which", [program]).status === 0;
const CHROMIUM = ["chromium", "chromium-browser", "google-chrome"].find(has);
const FIREFOX = ["firefox-esr", "firefox"].find(has);
const profile = mkdtempSync(join(tmpdir(), "torchlite-browser-"));

/** WebGPU on Chromium's software device; all four are needed for a canvas to be readable. */
const FLAGS = ["--enable-unsafe-webgpu", "--use-angle=swiftshader", "--enable-features=Vulkan", "--use-vulkan=swiftshader"];

function chromium(url: string): ChildProcess {
  const dir = join(profile, "chromium");
  const args = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run", `--user-data-dir=${dir}`, ...FLAGS, url];
  return spawn(CHROMIUM ?? "", args, { stdio: "ignore", detached: true });
}

function firefox(url: string): ChildProcess {
  const dir = join(profile, "firefox");
  mkdirSync(dir);
  const prefs = ["dom.webgpu.enabled", "gfx.webgpu.ignore-blocklist", "dom.webgpu.workers.enabled"];
  writeFileSync(join(dir, "user.js"), prefs.map((p) => `user_pref("${p}", true);\n`).join(""));
  // the Vulkan loader alone in a folder: Firefox must not find Chromium's other libraries
  const libraries = join(profile, "lib");
  mkdirSync(libraries);
  const loader = join(dirname(icd), "libvulkan.so.1");
  if (existsSync(loader)) symlinkSync(loader, join(libraries, "libvulkan.so.1"));
  const env = { ...process.env, LD_LIBRARY_PATH: libraries, HOME: dir };
  return spawn(FIREFOX ?? "", ["--headless", "--no-remote", "--profile", dir, url], { stdio: "ignore", env, detached: true });
}

describe("in a browser", () => {
  let server: Server;
  let page = "";
  let answer: (outcomes: Outcome[]) => void = () => undefined;
  const started: ChildProcess[] = [];

  beforeAll(async () => {
    const built = await build({
      entryPoints: [join(import.meta.dirname ?? __dirname, "browser_page.ts")],
      bundle: true,
      write: false,
      format: "esm",
      target: "es2022",
    });
    const script = built.outputFiles[0]?.text ?? "";
    server = createServer((request, response) => {
      if (request.url === "/page.mjs") {
        response.writeHead(200, { "content-type": "text/javascript" }).end(script);
      } else if (request.url === "/result") {
        let body = "";
        request.on("data", (part: Buffer) => (body += part.toString()));
        request.on("end", () => {
          response.end();
          answer(JSON.parse(body) as Outcome[]);
        });
      } else {
        response.writeHead(200, { "content-type": "text/html" }).end('<!doctype html><script type="module" src="/page.mjs"></script>');
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    page = `http://localhost:${(server.address() as AddressInfo).port}/`;
  });

  afterAll(() => {
    server.close();
    for (const child of started) {
      try {
        if (child.pid) process.kill(-child.pid, "SIGKILL"); // with the processes it started
      } catch {
        // it is gone already
      }
    }
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  });

  async function run(start: (url: string) => ChildProcess): Promise<void> {
    const outcomes = await new Promise<Outcome[]>((resolve, reject) => {
      answer = resolve;
      const child = start(page);
      started.push(child);
      child.on("error", reject);
      setTimeout(() => reject(new Error("the page did not answer within 140 s")), 140_000).unref();
    });
    for (const { where, figures } of outcomes) console.info(where, JSON.stringify(figures));
    expect(outcomes.map((o) => [o.where, o.failures])).toEqual([
      ["window", []],
      ["worker", []],
    ]);
  }

  it.skipIf(!CHROMIUM || !vulkan)("Chromium: reads of both kinds, in window and worker", () => run(chromium), 150_000);
  it.skipIf(!FIREFOX || !vulkan)("Firefox: reads of both kinds, in window and worker", () => run(firefox), 150_000);
});
