// Shows a source file in its colours, to be read and copied. build.py bundles this file.

import { parser as javascript } from "@lezer/javascript";
import { highlightCode } from "@lezer/highlight";
import { parser as python } from "@lezer/python";
import { colours } from "./colours.js";

/** Puts the text at `url` (.py or .js) into `element`. */
export async function showSource(element, url) {
  const text = await (await fetch(url)).text();
  const parser = url.endsWith(".py") ? python : javascript;
  const add = (code, classes) => {
    const span = Object.assign(document.createElement("span"), { className: classes, textContent: code });
    element.append(classes ? span : code);
  };
  highlightCode(text, parser.parse(text), colours, add, () => element.append("\n"));
}
