import type { SharedStore } from '../../../src/plugin.ts'
import { digestOf } from './shared-record.ts'
import { changeText } from './shared-change.ts'

/** One account at one server, as it is listed. */
export interface Listed {
  readonly account: string
  readonly resource: string
  readonly state: 'granted' | 'lost'
}

const SHARDS = 64
/** Bytes of a shard: about as many entries as make a hundred thousand logins of all. */
const MOST_BYTES = 180_000

/** The list of all records, in parts of which each is small. */
export class GrantIndex {
  readonly #store: SharedStore
  readonly #lifeMs: number

  constructor(store: SharedStore, lifeMs: number) {
    this.#store = store
    this.#lifeMs = lifeMs
  }

  /** Notes what is true of a record now; undefined takes it from the list. False where there is no room. */
  async note(of: Pick<Listed, 'account' | 'resource'>, state: Listed['state'] | undefined): Promise<boolean> {
    const key = shardOf(of)
    return changeText(this.#store, key, this.#lifeMs, text => {
      const listed = listedIn(text)
      const known = listed.find(one => one.account === of.account && one.resource === of.resource)
      if (known?.state === state) return { result: true }
      const others = listed.filter(one => one !== known)
      const next = JSON.stringify(state === undefined ? others : [...others, { ...of, state }])
      return next.length > MOST_BYTES ? { result: false } : { result: true, next }
    })
  }

  async all(): Promise<Listed[]> {
    const found: Listed[] = []
    for (let shard = 0; shard < SHARDS; shard++) {
      const key = nameOf(shard)
      const sealed = await this.#store.get(key)
      found.push(...listedIn(sealed === undefined ? undefined : this.#store.open(sealed, key)))
    }
    return found
  }
}

function shardOf({ account, resource }: Pick<Listed, 'account' | 'resource'>): string {
  return nameOf(Buffer.from(digestOf(account, resource), 'base64url').readUInt8(0) % SHARDS)
}

function nameOf(shard: number): string {
  return `list ${shard}`
}

/** Reads a part; one that somebody else has written is as good as empty, as each write of a grant lists it anew. */
function listedIn(text: string | undefined): Listed[] {
  return text === undefined ? [] : (JSON.parse(text) as Listed[])
}
