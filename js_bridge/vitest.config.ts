import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // the kernels have a run of their own (npm run test:kernels): minutes on a software GPU
    include: process.env["KERNELS"] ? ["tests/{kernels,wgsl}/**/*.test.ts"] : ["tests/{api,runtime}/**/*.test.ts"],
    setupFiles: ["test_support/setup.ts"],
    // dawn.node is a native addon that is loaded once per process
    pool: "forks",
    maxWorkers: 2,
    // a software GPU on a busy machine is slow; nothing here measures time
    testTimeout: 240_000,
    hookTimeout: 120_000,
    teardownTimeout: 1_000,
  },
});
