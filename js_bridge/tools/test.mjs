// Runs vitest with a Vulkan library in reach of dawn.node. The variables must be set before node starts, because the
// dynamic linker reads LD_LIBRARY_PATH only then; so this is a program of its own.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const env = { ...process.env };

/** Folder of Debian's chromium package that holds a Vulkan loader and a software device. */
function chromiumFolder() {
  const listed = spawnSync("dpkg", ["-L", "chromium", "chromium-common"], { encoding: "utf8" }).stdout ?? "";
  const icd = listed.split("\n").find((line) => line.endsWith("/vk_swiftshader_icd.json"));
  const folders = [...(icd ? [dirname(icd)] : []), "/usr/lib/chromium"];
  return folders.find((f) => existsSync(join(f, "vk_swiftshader_icd.json")) && existsSync(join(f, "libvulkan.so.1")));
}

if (!env.VK_ICD_FILENAMES && !env.VK_DRIVER_FILES && process.platform === "linux") {
  const folder = chromiumFolder();
  if (folder) {
    env.LD_LIBRARY_PATH = env.LD_LIBRARY_PATH ? `${folder}:${env.LD_LIBRARY_PATH}` : folder;
    env.VK_ICD_FILENAMES = join(folder, "vk_swiftshader_icd.json");
  }
}
if (!process.stdout.isTTY) {
  env.NO_COLOR = "1"; // counts are read from the text
  delete env.FORCE_COLOR;
}
const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
const done = spawnSync(process.execPath, [vitest, "run", ...process.argv.slice(2)], {
  cwd: root,
  env,
  stdio: "inherit",
});
process.exit(done.status ?? 1);
