import type { ServerSide, UpstreamMemory } from '../api/index.ts'
import { isObject } from '../protocol/json/json.ts'
import { isLegacy, isModern } from '../protocol/versions.ts'

const PART = 'server'
/** What a server says of itself may be this long, in characters of JSON. */
const MAX_LENGTH = 256 * 1024
/** An equal answer is noted again after this time, so that the age of a verdict is known. */
const NOTED_MS = 60 * 60_000

/** What a server said of itself in an earlier run, so that clients can be greeted before it runs. */
export class Remembered {
  readonly server: ServerSide | undefined
  /** Milliseconds since it said so. */
  readonly ageMs: number
  /** Whether it has been spoken to in this run. */
  isConfirmed = false
  readonly #memory: UpstreamMemory | undefined
  #text = ''
  #seenAt = 0

  constructor(memory: UpstreamMemory | undefined) {
    this.#memory = memory
    const saved = memory?.read(PART)
    const { server, seenAt } = isObject(saved) ? saved : {}
    const age = Date.now() - Number(seenAt)
    // A clock that was set back proves nothing, so what is from the future is of today.
    this.ageMs = age > 0 ? age : 0
    this.server = isServerSide(server) ? server : undefined
    if (this.server === undefined) return
    this.#text = JSON.stringify(this.server)
    this.#seenAt = Date.now() - this.ageMs
  }

  /** Notes what it says now. */
  keep(server: ServerSide): void {
    this.isConfirmed = true
    if (this.#memory === undefined) return
    const text = JSON.stringify(server)
    const now = Date.now()
    if (text.length > MAX_LENGTH || (text === this.#text && now - this.#seenAt < NOTED_MS)) return
    this.#text = text
    this.#seenAt = now
    this.#memory.write(PART, { server, seenAt: now })
  }
}

function isServerSide(value: unknown): value is ServerSide {
  if (!isObject(value) || !isObject(value.info) || !isObject(value.capabilities)) return false
  const { era, version, info, instructions } = value
  const isOfEra = era === 'modern' ? isModern : era === 'legacy' ? isLegacy : () => false
  return (
    isOfEra(String(version)) &&
    typeof info.name === 'string' &&
    typeof info.version === 'string' &&
    (instructions === undefined || typeof instructions === 'string')
  )
}
