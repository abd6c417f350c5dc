// What belongs to this release; wheels/npm.py fills the names in.

declare const PYODIDE_VERSION: string;
declare const WHEEL_NAME: string;

/** Where Pyodide is published. */
export const PYODIDE = new URL(`https://cdn.jsdelivr.net/pyodide/v${PYODIDE_VERSION}/full/`);

/** The wheel beside this file: written so that bundlers take it along. */
export const WHEEL = new URL(WHEEL_NAME, import.meta.url);
