/** Runs before each test file: kernels have nothing to run on where there is no adapter, and their tests skip. */
import { beforeEach, expect } from "vitest";

if (/[/\\]src[/\\](kernels|wgsl)[/\\]/.test(expect.getState().testPath ?? "")) {
  const { gpu, why } = await import("./testing");
  beforeEach((context) => {
    if (!gpu) context.skip(why);
  });
}
