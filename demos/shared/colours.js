// The classes that source code is coloured by, in editors and where it is only shown; style.css has the colours.

import { tagHighlighter, tags } from "@lezer/highlight";

export const colours = tagHighlighter([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword], class: "code-keyword" },
  { tag: [tags.string, tags.special(tags.string)], class: "code-string" },
  { tag: [tags.number, tags.bool, tags.null], class: "code-number" },
  { tag: tags.comment, class: "code-comment" },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)], class: "code-name" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], class: "code-call" },
]);
