import { PROOF } from './proof.gen.ts'

/** The part of WebAssembly that is used here; Node's types have none of it. */
interface WebAssemblyHost {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object) => { readonly exports: unknown }
}

/** Bytes given to the module at once: few at first, as most values are short. */
const FIRST = 128
const MAX_COUNT = 64 * 1024
/** Bytes of a list that are looked at first for numbers. */
const MANY_NUMBERS = 1024
/** Where a piece begins in its memory. */
const BEGIN = 1024

/** How a piece ended. */
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
  beginNumbers(): void
  numbers(length: number, most: number): number
}

/** Findings of the last proof; one for all, as proving never yields. */
export const proofResult = { tokens: 0 }

let memory = new Uint8Array()
/** The module, compiled for the first long message; null where this Node runs none (`--jitless`). */
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
 * Proves the JSON value that begins at `from` and nests at `level`, after `tokens` names and values. Returns where it
 * ends, with `proven.tokens` until there; -1 where it is refused, or may end with the text: `check.ts` says why.
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
  return after
}

/** Proves the rest of a string, from `from` on. Returns where it ends, behind its quote, or -1. */
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
    const taken = module.read(length)
    const ended = module.ended()
    at += taken
    if (ended === DONE) return at
    // Where nothing of a whole piece was taken, a number is longer than it.
    if (ended !== MORE || (taken === 0 && (length === MAX_COUNT || at + length === end))) return -1
  }
  return -1
}

/** Bytes at the end of a piece in which a number may be cut. */
const CUT = 64

/**
 * Proves numbers of a list, each with the comma behind it, from the beginning of one on; at most so many. Returns where the first
 * element stands that is left, with the number of the others in `proven.tokens`.
 */
export function proveNumbers(bytes: Uint8Array, from: number, end: number, most: number): number {
  const module = loadModule()
  proofResult.tokens = 0
  if (module === null) return from
  module.beginNumbers()
  let at = from
  for (let size = MANY_NUMBERS; at < end; size = Math.min(MAX_COUNT, 8 * size)) {
    const length = Math.min(size, end - at)
    memory.set(bytes.subarray(at, at + length))
    const taken = module.numbers(length, most - proofResult.tokens)
    at += taken
    proofResult.tokens += module.tokens()
    if (taken === 0 || taken < length - CUT) break
  }
  return at
}
