/** For tests: pages in headless browsers on the software device. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { build } from "esbuild";

/** Describes the driver to use; without a Vulkan driver there is nothing to test in a browser either. */
const icd = process.env["VK_ICD_FILENAMES"] ?? "";
const vulkan = existsSync(icd.split(":")[0] ?? "");
const has = (program: string): boolean => spawnSync("which", [program]).status === 0;
const chromiumProgram = ["chromium", "chromium-browser", "google-chrome"].find(has);
const firefoxProgram = ["firefox-esr", "firefox"].find(has);

/** WebGPU on Chromium's software device; all four are needed for a canvas to be readable. */
const FLAGS = [
  "--enable-unsafe-webgpu",
  "--use-angle=swiftshader",
  "--enable-features=Vulkan",
  "--use-vulkan=swiftshader",
];

function chromium(url: string, profile: string): ChildProcess {
  const dir = join(profile, "chromium");
  const args = [
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--no-first-run",
    `--user-data-dir=${dir}`,
    ...FLAGS,
    url,
  ];
  return spawn(chromiumProgram ?? "", args, { stdio: "ignore", detached: true });
}

function firefox(url: string, profile: string): ChildProcess {
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
  return spawn(firefoxProgram ?? "", ["--headless", "--no-remote", "--profile", dir, url], {
    stdio: "ignore",
    env,
    detached: true,
  });
}

/** The browsers there are; without a Vulkan driver none can run a kernel. */
export const BROWSERS: readonly (readonly [name: string, start: (url: string, profile: string) => ChildProcess])[] = [
  ...(vulkan && chromiumProgram ? [["Chromium", chromium] as const] : []),
  ...(vulkan && firefoxProgram ? [["Firefox", firefox] as const] : []),
];

/** Runs a module in a page; what it posts to /result comes back. */
export async function inBrowser(
  start: (url: string, profile: string) => ChildProcess,
  module: string,
): Promise<unknown> {
  const built = await build({ entryPoints: [module], bundle: true, write: false, format: "esm", target: "es2022" });
  const script = built.outputFiles[0]?.text ?? "";
  const profile = mkdtempSync(join(tmpdir(), "torchlite-browser-"));
  let answer: (result: unknown) => void = () => undefined;
  const server = createServer((request, response) => {
    if (request.url === "/page.mjs") {
      response.writeHead(200, { "content-type": "text/javascript" }).end(script);
    } else if (request.url === "/result") {
      let body = "";
      request.on("data", (part: Buffer) => (body += part.toString()));
      request.on("end", () => {
        response.end();
        answer(JSON.parse(body));
      });
    } else {
      response
        .writeHead(200, { "content-type": "text/html" })
        .end('<!doctype html><script type="module" src="/page.mjs"></script>');
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  let child: ChildProcess | undefined;
  try {
    return await new Promise((resolve, reject) => {
      answer = resolve;
      child = start(`http://localhost:${(server.address() as AddressInfo).port}/`, profile);
      child.on("error", reject);
      setTimeout(() => reject(new Error("the page did not answer within 140 s")), 140_000).unref();
    });
  } finally {
    server.close();
    try {
      if (child?.pid) process.kill(-child.pid, "SIGKILL"); // with the processes it started
    } catch {
      // it is gone already
    }
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
