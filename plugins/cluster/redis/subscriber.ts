import type { RedisClientType } from '@redis/client'

interface Topic {
  readonly heard: (text: string) => void
  readonly missed: () => void
}

/**
 * Hears what is published, over a connection of its own that is opened by the first who listens. What is told while there is no
 * connection is lost, and so everybody is told that something may be.
 */
export class Subscriber {
  readonly #make: () => RedisClientType
  readonly #channels = new Map<string, Set<Topic>>()
  readonly #subscribed = new Set<string>()
  #client: RedisClientType | undefined

  constructor(make: () => RedisClientType) {
    this.#make = make
  }

  add(channel: string, heard: (text: string) => void, missed: () => void): () => void {
    const topic = { heard, missed }
    const all = this.#channels.get(channel) ?? new Set()
    this.#channels.set(channel, all.add(topic))
    this.#client ??= this.#open()
    this.#follow(channel)
    return () => {
      if (!all.delete(topic) || all.size > 0) return
      this.#channels.delete(channel)
      if (this.#subscribed.delete(channel)) void this.#client?.unsubscribe(channel).catch(() => undefined)
    }
  }

  close(): void {
    this.#channels.clear()
    if (this.#client?.isOpen === true) this.#client.destroy()
    this.#client = undefined
  }

  #open(): RedisClientType {
    const client = this.#make()
    // The other connection says what is wrong.
    client.on('error', () => undefined)
    client.on('ready', () => {
      for (const [channel, topics] of this.#channels)
        if (this.#subscribed.has(channel)) for (const { missed } of topics) missed()
        else this.#follow(channel)
    })
    void client.connect().catch(() => undefined)
    return client
  }

  /** Waits for the connection where there is none: then all are followed. */
  #follow(channel: string): void {
    const client = this.#client
    if (client?.isReady !== true || this.#subscribed.has(channel)) return
    this.#subscribed.add(channel)
    const tell = (text: string): void => {
      for (const { heard } of [...(this.#channels.get(channel) ?? [])]) heard(text)
    }
    client.subscribe(channel, tell).then(
      () => {
        for (const { missed } of [...(this.#channels.get(channel) ?? [])]) missed()
      },
      () => this.#subscribed.delete(channel),
    )
  }
}
