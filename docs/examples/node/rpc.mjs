// JSON-RPC 2.0 over lines: one UTF-8 JSON object a line. Every line gets its answer, and no line ends the program.

import { isObject, isString } from './shapes.mjs';

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;
export const OPERATION_FAILED = -32000;

/** For the conversation itself. A domain refusal is no error: it is a result. */
export class RpcError extends Error {
  constructor(code, message, data) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

const NEWLINE = 0x0a;

/**
 * The lines of a stream, as bytes. Not `node:readline`: some versions of it end a line at U+2028 too, which may stand in a
 * JSON string, and all of them mend broken UTF-8 in silence. And no text before the line is whole, because a chunk may
 * end in the middle of a letter.
 */
export async function* linesOf(stream) {
  let pieces = [];
  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...pieces, chunk.subarray(start, end)]);
      pieces = [];
      start = end + 1;
    }
    pieces.push(chunk.subarray(start));
  }
  const rest = Buffer.concat(pieces);
  if (rest.length > 0) yield rest;
}

// `fatal`: bytes that are no UTF-8 are an error, and do not quietly become U+FFFD.
const UTF_8 = new TextDecoder('utf-8', { fatal: true });

function parse(line) {
  try {
    return JSON.parse(UTF_8.decode(line));
  } catch {
    throw new RpcError(PARSE_ERROR, 'this line is not a JSON text in UTF-8');
  }
}

const isId = (id) => isString(id) || typeof id === 'number' || id === null;

function validate(request) {
  const { jsonrpc, method, id = null, params = {} } = isObject(request) ? request : {};
  if (jsonrpc !== '2.0' || !isString(method) || !isId(id)) throw new RpcError(INVALID_REQUEST, 'not a JSON-RPC 2.0 request');
  if (!isObject(params)) throw new RpcError(INVALID_PARAMS, 'parameters go by name');
  return { method, params };
}

function errorOf(error) {
  if (error instanceof RpcError) return { code: error.code, message: error.message, data: error.data };
  console.error(error);
  return { code: INTERNAL_ERROR, message: 'internal error' };
}

/** The reply to one line; undefined for a notification, which has no id and wants none, not even of an error. */
export function replyTo(line, call) {
  let id = null;
  let isNotification = false;
  try {
    const request = parse(line);
    if (isId(request?.id)) id = request.id;
    const { method, params } = validate(request);
    isNotification = !Object.hasOwn(request, 'id');
    const result = call(method, params);
    return isNotification ? undefined : { jsonrpc: '2.0', id, result };
  } catch (error) {
    return isNotification ? undefined : { jsonrpc: '2.0', id, error: errorOf(error) };
  }
}

/** Answers every line of the input, in order, until it ends. */
export async function serve(call, input, output) {
  for await (const line of linesOf(input)) {
    const reply = replyTo(line, call);
    if (reply) output.write(`${JSON.stringify(reply)}\n`);
  }
}
