// Completion and signature help for CodeMirror, from Names.

import { StateEffect, StateField } from "@codemirror/state";
import { showTooltip, ViewPlugin } from "@codemirror/view";
import { syntaxTree } from "@codemirror/language";
import { argumentsOf, callAt } from "./calls.js";

const TYPES = { f: "function", c: "class", m: "namespace", v: "variable", k: "keyword", "": "text" };
const REACH = 2000; // characters before the cursor in which an open call is looked for

const inText = (state, pos) => /String|Comment/.test(syntaxTree(state).resolveInner(pos, -1).name);

export function completionSource(names) {
  return async (context) => {
    const before = context.matchBefore(/[\w.]*/);
    if (inText(context.state, context.pos)) return null;
    const text = before?.text ?? "";
    const dot = text.lastIndexOf(".");
    const word = text.slice(dot + 1);
    if (!context.explicit && dot < 0 && word.length < 2) return null;
    if (/^\d/.test(text) || (dot === 0 && !text.slice(1))) return null;
    const found = await names.of(dot < 0 ? "" : text.slice(0, dot), context.state.doc.toString());
    const options = found
      .filter(([name]) => name !== word || dot >= 0)
      .map(([name, kind, signature, doc]) => ({
        label: name,
        type: TYPES[kind],
        detail: signature.length > 44 ? `${signature.slice(0, 43)}…` : signature,
        boost: kind === "" && dot < 0 ? -20 : 0,
        info: signature.length > 44 || doc ? () => card(name, signature, doc) : undefined,
      }));
    return options.length ? { from: context.pos - word.length, options, validFor: /^\w*$/ } : null;
  };
}

function card(name, signature, doc) {
  const element = document.createElement("div");
  const code = document.createElement("code");
  code.textContent = name + signature;
  element.append(code);
  if (doc) {
    const said = document.createElement("p");
    said.textContent = doc;
    element.append(said);
  }
  return element;
}

const setTip = StateEffect.define();

const tip = StateField.define({
  create: () => null,
  update(value, change) {
    for (const effect of change.effects) if (effect.is(setTip)) return effect.value;
    return value && change.docChanged ? { ...value, pos: change.changes.mapPos(value.pos) } : value;
  },
  provide: (field) => showTooltip.from(field),
});

export function signatureHelp(names) {
  const watcher = ViewPlugin.fromClass(
    class {
      constructor() {
        this.shown = "";
      }
      update(update) {
        if (!update.docChanged && !update.selectionSet) return;
        const { view, state } = update;
        const { head, empty } = state.selection.main;
        const start = Math.max(0, head - REACH);
        const call = empty && !inText(state, head) ? callAt(state.sliceDoc(start, head)) : null;
        const entry = call && names.entry(call.name, state.doc.toString());
        const wanted = entry?.[1] ? `${call.name}@${start + call.from}:${call.argument}` : "";
        if (wanted === this.shown) return;
        this.shown = wanted;
        const value = wanted ? tooltip(start + call.from, call, entry) : null;
        // an update must not start another
        setTimeout(() => this.shown === wanted && view.dispatch({ effects: setTip.of(value) }));
      }
    },
  );
  return [tip, watcher];
}

function tooltip(pos, { name, argument }, [, signature, doc]) {
  const create = () => {
    const dom = document.createElement("div");
    dom.className = "signature";
    const code = document.createElement("code");
    const parts = argumentsOf(signature);
    const positional = parts.list.filter((part) => part !== "*" && part !== "/");
    const now = positional[Math.min(argument, positional.length - 1)];
    code.append(`${name.split(".").at(-1)}(`);
    parts.list.forEach((part, index) => {
      if (index) code.append(", ");
      if (part === now) {
        const strong = document.createElement("b");
        strong.textContent = part;
        code.append(strong);
      } else code.append(part);
    });
    code.append(parts.rest);
    dom.append(code);
    if (doc) {
      const said = document.createElement("p");
      said.textContent = doc;
      dom.append(said);
    }
    return { dom };
  };
  return { pos, above: true, arrow: false, create };
}
