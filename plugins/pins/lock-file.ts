import { lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '../../src/plugin.ts'
import { escapeInvisible, isObject, getErrorMessage } from '../../src/plugin.ts'
import type { PinnedKind } from './definition.ts'
import { hashValue, sortKeys, getDefinitionName, PINNED, HASH_SCHEME } from './definition.ts'
import { pinsError } from './errors.ts'

const LOCK_FILE = 'gateway.lock'

const VERSION = 1
const MAX_BYTES = 64 * 1024 * 1024

/** An accepted definition or text. */
export interface Pin<T> {
  readonly hash: string
  readonly accepted: T
}

/** One upstream's accepted state. */
export interface UpstreamPins {
  readonly instructions?: Pin<string>
  readonly definitions: Readonly<Record<PinnedKind, ReadonlyMap<string, Pin<JsonObject>>>>
}

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
  if (typeof version === 'number' && version > VERSION) throw pinsError('GW_PINS_LOCK_VERSION', { file, version })
  if (version !== VERSION || !isObject(upstreams)) throw createLockError(file, 'not a lock file of tapgate')
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
  const conflict = text.split('\n').findIndex(line => /^(<<<<<<<|>>>>>>>) /.test(line))
  if (conflict >= 0) throw createLockError(file, `line ${conflict + 1} is a merge conflict marker`)
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
  const pins = PINNED.map(kind => [kind, parseDefinitions(value[kind], kind, `${upstream}: ${kind}`, file)] as const)
  return {
    ...(value.instructions === undefined ? {} : { instructions: parseTextPin(value.instructions, upstream, file) }),
    definitions: Object.fromEntries(pins) as unknown as UpstreamPins['definitions'],
  }
}

function parseDefinitions(
  value: unknown,
  kind: PinnedKind,
  location: string,
  file: string,
): Map<string, Pin<JsonObject>> {
  if (value === undefined) return new Map()
  if (!isObject(value)) throw createLockError(file, `${location} is not a map`)
  return new Map(
    Object.entries(value).map(([name, pin]) => [name, parseDefinitionPin(pin, kind, name, location, file)]),
  )
}

/** Verifies the hash: reviewers read the text, but the hash decides. */
function parseDefinitionPin(
  pin: unknown,
  kind: PinnedKind,
  name: string,
  location: string,
  file: string,
): Pin<JsonObject> {
  if (!isObject(pin) || typeof pin.hash !== 'string' || !isObject(pin.definition))
    throw createLockError(file, `${location} "${name}" has no hash or no definition`)
  const lines = joinLines(pin.description)
  const accepted = lines === undefined ? pin.definition : { ...pin.definition, description: lines }
  if (getDefinitionName(kind, accepted) !== name)
    throw createLockError(file, `${location} "${name}" contains a definition with a different name`)
  return verifyPin({ hash: pin.hash, accepted }, `${location} "${name}"`, file)
}

function parseTextPin(pin: unknown, upstream: string, file: string): Pin<string> {
  const accepted = isObject(pin) ? joinLines(pin.text) : undefined
  if (!isObject(pin) || typeof pin.hash !== 'string' || accepted === undefined)
    throw createLockError(file, `${upstream}: instructions have no hash or no text`)
  return verifyPin({ hash: pin.hash, accepted }, `${upstream}: instructions`, file)
}

function verifyPin<T>(pin: Pin<T>, location: string, file: string): Pin<T> {
  if (!pin.hash.startsWith(HASH_SCHEME)) {
    const version = `hash ${pin.hash.slice(0, 8)}`
    throw pinsError('GW_PINS_LOCK_VERSION', { file, version })
  }
  if (hashValue(pin.accepted) !== pin.hash) throw createLockError(file, `${location}: the hash does not match its text`)
  return pin
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

function formatUpstream({ instructions, definitions: all }: UpstreamPins): JsonObject {
  const kinds = PINNED.filter(kind => all[kind].size > 0).map(
    kind =>
      [
        kind,
        Object.fromEntries(sortEntries(all[kind]).map(([name, pin]) => [name, formatDefinition(pin)] as const)),
      ] as const,
  )
  return {
    ...(instructions === undefined
      ? {}
      : { instructions: { hash: instructions.hash, text: instructions.accepted.split('\n') } }),
    ...Object.fromEntries(kinds),
  }
}

function formatDefinition({ hash, accepted }: Pin<JsonObject>): JsonObject {
  const { description, ...definition } = accepted
  if (typeof description !== 'string') return { hash, definition: sortKeys(accepted) }
  return { hash, description: description.split('\n'), definition: sortKeys(definition) }
}

function sortEntries<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([one], [other]) => (one < other ? -1 : 1))
}
