// Text that people write, and JSON as text: blankness, length, canonical form, pointers.

import { createHash } from 'node:crypto';
import { isObject } from './shapes.mjs';

const MOST_LEVELS = 64;

// Not `\s`: that takes U+FEFF, which is no White_Space, and misses U+0085, which is.
const BLANK = /^\p{White_Space}*$/u;

/** Blank text is no text (I7.4). */
export const isBlank = (text) => BLANK.test(text);

/** `text.length` counts UTF-16 units, and would charge two for many a letter; iterating counts code points (I7.4). */
export const countCodePoints = (text) => [...text].length;

/** Whether no string in this value, keys included, has U+0000 or a lone surrogate, and it does not nest too deep. */
export function isClean(value, levels = MOST_LEVELS) {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (value === null || typeof value !== 'object') return true;
  if (levels === 0) return false;
  return Object.entries(value).every(([key, inner]) => isClean(key) && isClean(inner, levels - 1));
}

/**
 * Canonical JSON (RFC 8785): the same value is the same text, whatever order its keys came in.
 * JavaScript's own sort order and number format are the ones that the RFC asks for.
 */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item)).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${members.join(',')}}`;
}

/** One id, one hash, for ever (I6.5); it covers the stored actions too, although no client sees them (I6.8). */
export const hashOf = (payload) => `sha256:${createHash('sha256').update(canonical(payload)).digest('hex')}`;

// JSON pointers (RFC 6901).
const POINTER = /^(\/([^~/]|~[01])*)+$/;
const INDEX = /^(0|[1-9]\d*)$/;

const tokensOf = (pointer) =>
  pointer.slice(1).split('/').map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));

function has(parent, token) {
  if (Array.isArray(parent)) return INDEX.test(token) && Number(token) < parent.length;
  return isObject(parent) && Object.hasOwn(parent, token);
}

/** Whether the place's parent exists. The empty pointer is the whole document, which has none. */
export function canPlace(document, pointer) {
  if (!POINTER.test(pointer)) return false;
  const path = tokensOf(pointer);
  const last = path.pop();
  let parent = document;
  for (const token of path) {
    if (!has(parent, token)) return false;
    parent = parent[token];
  }
  return isObject(parent) || (Array.isArray(parent) && (last === '-' || last === String(parent.length) || has(parent, last)));
}

/** A copy of the document with the text at that place, and nowhere else (I7.4). The document itself stays as it is. */
export const placeText = (document, pointer, text) => placeAt(document, tokensOf(pointer), text);

function placeAt(node, [token, ...rest], text) {
  if (token === undefined) return text;
  if (Array.isArray(node)) {
    const index = token === '-' ? node.length : Number(token);
    return Object.assign([...node], { [index]: placeAt(node[index], rest, text) });
  }
  return { ...node, [token]: placeAt(node[token], rest, text) };
}
