// The Python editor: CodeMirror 6 with the page's own colours. build.py bundles this file.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { colours } from "./colours.js";

const setMark = StateEffect.define();
const wrong = Decoration.line({ class: "code-wrong" });

// The line where the script failed; any edit clears it.
const mark = StateField.define({
  create: () => Decoration.none,
  update(value, change) {
    for (const effect of change.effects) {
      if (effect.is(setMark)) {
        const { value: line } = effect;
        if (line === null || line < 1 || line > change.state.doc.lines) return Decoration.none;
        return Decoration.set([wrong.range(change.state.doc.line(line).from)]);
      }
    }
    return change.docChanged ? Decoration.none : value;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Puts an editor into `parent`; Ctrl+Enter (or Cmd+Enter) calls `onRun`. `extensions` are CodeMirror's. */
export function createEditor(parent, { text = "", label = "Python code", onRun = () => {}, extensions = [] } = {}) {
  const run = () => {
    onRun();
    return true;
  };
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        highlightActiveLineGutter(),
        highlightActiveLine(),
        history(),
        drawSelection(),
        indentOnInput(),
        indentUnit.of("    "),
        bracketMatching(),
        python(),
        syntaxHighlighting(colours),
        mark,
        extensions,
        keymap.of([{ key: "Mod-Enter", run }, indentWithTab, ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocapitalize: "off" }),
      ],
    }),
  });
  return {
    view,
    get text() {
      return view.state.doc.toString();
    },
    set text(value) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
    },
    /** Marks a line as wrong and scrolls to it; null clears the mark. */
    mark(line) {
      const effects = [setMark.of(line)];
      if (line !== null && line >= 1 && line <= view.state.doc.lines) {
        effects.push(EditorView.scrollIntoView(view.state.doc.line(line).from, { y: "center" }));
      }
      view.dispatch({ effects });
    },
    focus: () => view.focus(),
  };
}
