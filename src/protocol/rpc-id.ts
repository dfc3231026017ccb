const LONG_ID = /^-?\d+$/
/** Longest number that is taken for an id: reading and writing a longer one takes time. */
const MAX_ID_DIGITS = 100

/** Id of a JSON-RPC request; a whole number that a `number` cannot hold exactly is a `bigint`. */
export type RpcId = string | number | bigint

/** Returns a number as an id: whole numbers that JavaScript would change as a `bigint`. */
export function exactId(id: number, text: string): RpcId | undefined {
  if (Number.isSafeInteger(id) || (Number.isFinite(id) && !Number.isInteger(id))) return id
  return text.length <= MAX_ID_DIGITS && LONG_ID.test(text) ? BigInt(text) : undefined
}
