/** A module by a name that is known at run time only: bundlers leave it alone. */
export function importModule(name: string): Promise<unknown> {
  return import(/* webpackIgnore: true */ /* @vite-ignore */ name);
}
