import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { SharedStore } from '../../../src/plugin.ts'
import { oauthError } from '../errors.ts'
import type { EntryOptions, StoredEntry, VaultBackend } from '../types.ts'

/** Unused entries are dropped after this time. */
const LIFE_MS = 365 * 86_400_000
/** Names are listed in this many small entries. */
const SHARDS = 64
/** Maximum bytes per shard; allows about 100,000 logins in total. */
const MAX_SHARD_BYTES = 180_000
/** Maximum attempts under contention. */
const MAX_ATTEMPTS = 30
const MAX_BACKOFF_MS = 20
/** Entries that are looked up by name only. */
const UNLISTED = /^(lease|client) /

/**
 * Entries of all replicas in their shared store. Values are sealed for their name, and keys are hashes of it: write
 * access to the store allows neither reading nor moving a login.
 */
export class SharedBackend implements VaultBackend {
  readonly location = 'the Redis of "cluster", for all replicas'
  readonly #store: SharedStore

  constructor(store: SharedStore) {
    this.#store = store
  }

  readEntry(name: string): Promise<StoredEntry | undefined> {
    return this.#getByKey(hashName(name))
  }

  async put(name: string, value: unknown, { when, expiresInMs = LIFE_MS }: EntryOptions = {}): Promise<boolean> {
    if (typeof when !== 'object' && !(await this.#changeIndex(name, true)))
      throw oauthError('GW_VAULT', { location: this.location, why: 'too many logins' })
    return this.#putByKey(hashName(name), value, { when, expiresInMs })
  }

  async delete(name: string, tag?: string): Promise<boolean> {
    const isDeleted = await this.#store.delete(hashName(name), tag)
    if (!isDeleted) return false
    return this.#changeIndex(name, false)
  }

  async list(): Promise<string[]> {
    const shards = Array.from({ length: SHARDS }, (_, shard) => this.#getByKey(`list ${shard}`))
    return (await Promise.all(shards)).flatMap(parseNames).sort()
  }

  close(): void {
    // The cluster closes the store.
  }

  async #getByKey(key: string): Promise<StoredEntry | undefined> {
    const tag = await this.#store.get(key)
    const text = tag === undefined ? undefined : this.#store.open(tag, key)
    return tag === undefined ? undefined : { value: text === undefined ? undefined : JSON.parse(text), tag }
  }

  #putByKey(key: string, value: unknown, { when, expiresInMs = LIFE_MS }: EntryOptions): Promise<boolean> {
    const sealed = this.#store.seal(JSON.stringify(value), key)
    return this.#store.put(key, sealed, { expiresInMs, when: typeof when === 'object' ? { is: when.tag } : when })
  }

  /** Adds or removes a name; returns false if its shard is full. A forged shard counts as empty. */
  async #changeIndex(name: string, isPresent: boolean): Promise<boolean> {
    if (UNLISTED.test(name)) return true
    const key = `list ${Buffer.from(hashName(name), 'base64url').readUInt8(0) % SHARDS}`
    for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
      const before = await this.#getByKey(key)
      const names = parseNames(before)
      if (names.includes(name) === isPresent) return true
      const next = isPresent ? [...names, name] : names.filter(one => one !== name)
      if (JSON.stringify(next).length > MAX_SHARD_BYTES) return false
      if (await this.#putByKey(key, next, { when: before ?? 'absent' })) return true
      await pause(Math.random() * MAX_BACKOFF_MS)
    }
    throw oauthError('GW_VAULT', { location: this.location, why: 'too many concurrent logins' })
  }
}

function parseNames(entry: StoredEntry | undefined): string[] {
  return Array.isArray(entry?.value) ? entry.value.filter(name => typeof name === 'string') : []
}

function hashName(name: string): string {
  return createHash('sha256').update(name).digest('base64url')
}
