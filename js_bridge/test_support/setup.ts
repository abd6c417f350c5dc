/** Runs before each test file: kernels have nothing to run on where there is no adapter, and their tests skip. */
import { beforeEach, expect } from "vitest";

if (/[/\\]tests[/\\](kernels|wgsl)[/\\]/.test(expect.getState().testPath ?? "")) {
  const { gpu, why } = await import("./gpu");
  beforeEach((context) => {
    if (!gpu) context.skip(why);
  });
}
