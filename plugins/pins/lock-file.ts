import { lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '../../src/plugin.ts'
import { escapeInvisible, isObject, getErrorMessage } from '../../src/plugin.ts'
import type { Pin, PinKind, UpstreamPins } from './definition.ts'
import { createPinKey, hashValue, sortKeys, getDefinitionName, KINDS } from './definition.ts'
import { pinsError } from './errors.ts'

const LOCK_FILE = 'gateway.lock'

const VERSION = 1
const MAX_BYTES = 64 * 1024 * 1024

/** gateway.lock contents by upstream. */
export type Lock = ReadonlyMap<string, UpstreamPins>

export function lockPath(directory: string): string {
  return join(directory, LOCK_FILE)
}

/**
 * Reads gateway.lock; undefined if it does not exist.
 * @throws GatewayError GW_PINS_LOCK if it is invalid
 */
export function readLock(file: string): Lock | undefined {
  const text = readLockText(file)
  if (text === undefined) return undefined
  const parsed = parseLockText(text, file)
  const { lockfileVersion: version, upstreams } = isObject(parsed) ? parsed : {}
  if (version !== VERSION || !isObject(upstreams))
    throw createLockError(file, 'not a lock file of this version of tapgate')
  return new Map(Object.entries(upstreams).map(([name, pins]) => [name, parseUpstreamPins(pins, name, file)]))
}

function readLockText(file: string): string | undefined {
  try {
    const stats = lstatSync(file)
    if (stats.isSymbolicLink()) throw createLockError(file, 'symbolic links are not allowed')
    if (!stats.isFile()) throw createLockError(file, 'not a file')
    if (stats.size > MAX_BYTES) throw createLockError(file, `larger than ${MAX_BYTES} bytes`)
    return readFileSync(file, 'utf8')
  } catch (cause) {
    if (isObject(cause) && cause.code === 'ENOENT') return undefined
    if (isObject(cause) && cause.code === 'GW_PINS_LOCK') throw cause
    throw createLockError(file, getErrorMessage(cause))
  }
}

function parseLockText(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw createLockError(file, getErrorMessage(cause))
  }
}

function createLockError(file: string, why: string): Error {
  return pinsError('GW_PINS_LOCK', { file, why })
}

function parseUpstreamPins(value: unknown, upstream: string, file: string): UpstreamPins {
  if (!isObject(value)) throw createLockError(file, `"${upstream}" is not an upstream`)
  const pins = new Map<string, Pin>()
  for (const kind of KINDS) {
    const own = value[kind] ?? {}
    if (!isObject(own)) throw createLockError(file, `${upstream}: ${kind} is not a map`)
    for (const [name, pin] of Object.entries(own))
      pins.set(createPinKey(kind, name), parsePin(pin, kind, name, upstream, file))
  }
  return pins
}

/** Verifies the hash: reviewers read the text, but the hash decides. */
function parsePin(value: unknown, kind: PinKind, name: string, upstream: string, file: string): Pin {
  const location = `${upstream}: ${kind} "${name}"`
  if (!isObject(value) || typeof value.hash !== 'string' || !isObject(value.definition))
    throw createLockError(file, `${location} has no hash or no definition`)
  const { hash } = value
  const description = joinLines(value.description)
  const definition = description === undefined ? value.definition : { ...value.definition, description }
  if (getDefinitionName(kind, definition) !== name)
    throw createLockError(file, `${location} contains a definition with a different name`)
  if (hashValue(definition) !== hash) throw createLockError(file, `${location}: the hash does not match its text`)
  return { kind, name, hash, definition }
}

function joinLines(value: unknown): string | undefined {
  return Array.isArray(value) && value.every(line => typeof line === 'string') ? value.join('\n') : undefined
}

/** Replaces the file atomically. */
export function writeLock(file: string, lock: Lock): void {
  readLockText(file) // what is no plain file is not replaced
  const temporary = `${file}.${process.pid}.tmp`
  try {
    writeFileSync(temporary, formatLock(lock), { flag: 'wx', mode: 0o644 })
    renameSync(temporary, file)
  } catch (cause) {
    rmSync(temporary, { force: true })
    throw createLockError(file, getErrorMessage(cause))
  }
}

/** Formats the lock: sorted, one line per description line, with invisible characters escaped. */
export function formatLock(lock: Lock): string {
  const upstreams = sortEntries(lock).map(([name, pins]) => [name, formatUpstream(pins)] as const)
  const file = { lockfileVersion: VERSION, upstreams: Object.fromEntries(upstreams) }
  return `${escapeInvisible(JSON.stringify(file, undefined, 2))}\n`
}

function formatUpstream(pins: UpstreamPins): JsonObject {
  const kinds = KINDS.map(kind => {
    const own = sortEntries(pins).flatMap(([, pin]) => (pin.kind === kind ? [pin] : []))
    return [kind, Object.fromEntries(own.map(pin => [pin.name, { hash: pin.hash, ...formatDefinition(pin) }]))] as const
  })
  return Object.fromEntries(kinds.filter(([, own]) => Object.keys(own).length > 0))
}

/** Formats a definition as in the file: sorted, and each line of the description on a line of its own. */
export function formatDefinition({ definition: all }: Pin): JsonObject {
  const { description, ...definition } = all
  if (typeof description !== 'string') return { definition: sortKeys(all) }
  return { description: description.split('\n'), definition: sortKeys(definition) }
}

function sortEntries<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([one], [other]) => (one < other ? -1 : 1))
}
