import { PROOF } from './proof.gen.ts'

/** Used part of WebAssembly, missing in Node's types. */
interface WebAssemblyHost {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object) => { readonly exports: unknown }
}

/** Initial piece size in bytes; small, as most values are short. */
const FIRST = 128
const MAX_COUNT = 64 * 1024
/** Offset of a piece in the module's memory. */
const BEGIN = 1024

/** Result codes of a piece. */
const MORE = 0
const DONE = 1

/** Exports of proof.as. */
interface ProofModule {
  readonly memory: { readonly buffer: ArrayBuffer }
  beginValue(level: number, tokens: number): void
  beginString(): void
  read(length: number): number
  ended(): number
  tokens(): number
  hasNull(): number
}

/** Result of the last validation, shared as it never yields. */
export const proofResult = { tokens: 0, hasNull: false }

let memory = new Uint8Array()
/** Module, compiled for the first long message; null if WebAssembly is unavailable (`--jitless`). */
let proof: ProofModule | null | undefined

function loadModule(): ProofModule | null {
  if (proof !== undefined) return proof
  const { WebAssembly: host } = globalThis as { WebAssembly?: WebAssemblyHost }
  if (host === undefined) return (proof = null)
  const module = new host.Module(Buffer.from(PROOF, 'base64'))
  const loaded = new host.Instance(module).exports as ProofModule
  memory = new Uint8Array(loaded.memory.buffer, BEGIN, MAX_COUNT)
  return (proof = loaded)
}

/**
 * Validates the JSON value at `from` with nesting `level`, after `tokens` names and values. Returns its end and
 * updates `proofResult`; -1 if it is invalid, nests deeper than 64 levels or has more than 10^6 names and values.
 */
export function proveValue(
  bytes: Uint8Array,
  from: number,
  end: number,
  level: number,
  tokens: number,
  first = FIRST,
): number {
  const module = loadModule()
  if (module === null) return -1
  module.beginValue(level, tokens)
  const after = runProof(module, bytes, from, end, first)
  proofResult.tokens = module.tokens()
  proofResult.hasNull = module.hasNull() === 1
  return after
}

/** Validates the rest of a string from `from`. Returns the index after its quote, or -1. */
export function proveString(bytes: Uint8Array, from: number, end: number, first = FIRST): number {
  const module = loadModule()
  if (module === null) return -1
  module.beginString()
  return runProof(module, bytes, from, end, first)
}

function runProof(module: ProofModule, bytes: Uint8Array, from: number, end: number, first: number): number {
  let at = from
  for (let size = first; at < end; size = Math.min(MAX_COUNT, 8 * size)) {
    const length = Math.min(size, end - at)
    memory.set(bytes.subarray(at, at + length))
    const accepted = module.read(length)
    const state = module.ended()
    at += accepted
    if (state === DONE) return at
    // If nothing of a full piece was accepted, a number is longer than the piece.
    if (state !== MORE || (accepted === 0 && (length === MAX_COUNT || at + length === end))) return -1
  }
  return -1
}

/** Returns false if WebAssembly is unavailable. */
export function canProve(): boolean {
  return loadModule() !== null
}
