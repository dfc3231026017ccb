import type { SharedStore } from '../api/index.ts'

const MAX_KEY = 1024
const MAX_VALUE = 256 * 1024
const MAX_MS = 366 * 86_400_000
/** Largest number that every store counts exactly. */
const MAX_COUNT = 2 ** 50

/** Wraps the shared store for one plugin: with its own keys and topics, and with limits. */
export function createPluginStore(plugin: string, store: SharedStore | undefined): SharedStore | undefined {
  if (store === undefined) return undefined
  const own = (key: string): string => {
    if (key.length < 1 || key.length > MAX_KEY) throw new RangeError(`a key must have 1 to ${MAX_KEY} characters`)
    return `${plugin} ${key}`
  }
  return {
    get isUp() {
      return store.isUp
    },
    get processCount() {
      return Math.max(1, store.processCount)
    },
    get: async key => store.get(own(key)),
    put: async (key, value, options) => {
      if (value.length > MAX_VALUE) throw new RangeError(`a value must have at most ${MAX_VALUE} characters`)
      withTimeout(options.expiresInMs)
      return store.put(own(key), value, options)
    },
    take: async key => store.take(own(key)),
    delete: async (key, is) => store.delete(own(key), is),
    addToCounter: async (key, request) => {
      withTimeout(request.expiresInMs)
      checkLength(request.max, request.initial, Math.abs(request.delta))
      return store.addToCounter(own(key), request)
    },
    publish: async (topic, text) => {
      if (text.length > MAX_VALUE) throw new RangeError(`a message must have at most ${MAX_VALUE} characters`)
      return store.publish(own(topic), text)
    },
    subscribe: (topic, onMessage, missed) => store.subscribe(own(topic), onMessage, missed),
    seal: (text, boundTo) => store.seal(text, own(boundTo)),
    open: (sealed, boundTo) => store.open(sealed, own(boundTo)),
  }
}

function withTimeout(ms: number): void {
  if (!Number.isInteger(ms) || ms < 1 || ms > MAX_MS)
    throw new RangeError(`a duration must be an integer from 1 to ${MAX_MS} ms`)
}

function checkLength(...numbers: readonly (number | undefined)[]): void {
  for (const number of numbers)
    if (number !== undefined && !(Number.isInteger(number) && number >= 0 && number <= MAX_COUNT))
      throw new RangeError(`a count must be an integer from 0 to ${MAX_COUNT}`)
}
