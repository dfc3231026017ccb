import assert from 'node:assert/strict'
import { call, listAll, needed, refusal, succeeds, textOf, until } from './check.ts'
import type { Bench, Check } from './check.ts'
import type { Json } from '../matrix/peer.ts'

const LOG = 'notifications/message'
const UPDATED = 'notifications/resources/updated'

/** Progress, logging, cancellation and what changes. */
export const EVENTS: Record<string, Check> = {
  'progress.steps': async ({ peer, offer }) => {
    const { steps, ...tool } = offer.progress
    const seen: number[] = []
    await succeeds(peer, tool, { onProgress: ({ progress }) => void seen.push(progress as number) })
    assert.equal(seen.length, steps, `it told ${seen.join(', ')}`)
    assert.deepEqual(
      seen,
      [...seen].sort((a, b) => a - b),
    )
  },
  'progress.parallel': async ({ peer, offer }) => {
    const { steps, ...tool } = offer.progress
    const counts = await Promise.all(
      Array.from({ length: 5 }, async () => {
        let count = 0
        await succeeds(peer, tool, { onProgress: () => void count++ })
        return count
      }),
    )
    assert.deepEqual(counts, Array(5).fill(steps))
  },
  'logging.unasked': async ({ site, offer }) => {
    const peer = await site.quiet()
    await succeeds(peer, needed(offer.logging))
    assert.deepEqual(peer.heard.all(LOG), [])
  },
  'logging.level': async ({ site, offer }) => {
    const peer = await site.quiet()
    const before = peer.heard.all(LOG).length
    await peer.setLogLevel('error')
    await succeeds(peer, needed(offer.logging))
    assert.deepEqual(peer.heard.all(LOG).slice(before), [])
  },
  'logging.delivered': async ({ site, offer }) => {
    const peer = await site.quiet()
    await peer.setLogLevel('debug')
    await succeeds(peer, needed(offer.logging))
    const message = await peer.heard.next(LOG, ({ data }) => /execution completed/.test(String(data)))
    assert.equal(message['level'], 'info')
  },
  'cancel.arrives': async ({ peer, offer }) => {
    const { wait, asked } = needed(offer.waiting)
    const id = crypto.randomUUID()
    const given = new AbortController()
    const running = call(peer, { name: wait, arguments: { id } }, { signal: given.signal })
    running.catch(() => undefined)
    // The answer to a later call says that the earlier one is under way.
    await succeeds(peer, offer.text)
    given.abort()
    await assert.rejects(running)
    assert.equal(textOf(await call(peer, { name: asked, arguments: { id } })), 'true')
  },
  'cancel.others-go-on': async ({ peer, offer }) => {
    const { wait } = needed(offer.waiting)
    const given = new AbortController()
    const running = call(peer, { name: wait, arguments: { id: crypto.randomUUID() } }, { signal: given.signal })
    running.catch(() => undefined)
    const other = succeeds(peer, offer.text)
    given.abort()
    await assert.rejects(running)
    await other
  },
  'changes.tools': bench => changes(bench, 'tools'),
  'changes.prompts': bench => changes(bench, 'prompts'),
  'changes.resource': async ({ site, offer }) => {
    const { uri, touch } = needed(offer.watched)
    const peer = await site.quiet()
    peer.heard.forget(UPDATED)
    const end = await peer.watch({ uris: [uri] })
    const told = await until(
      () => succeeds(peer, touch),
      () => peer.heard.next(UPDATED, params => params['uri'] === uri),
    )
    assert.equal(told['uri'], uri)
    await end()
  },
  'changes.unsubscribed': async ({ site, offer }) => {
    const { uri, touch } = needed(offer.watched)
    const peer = await site.quiet()
    const end = await peer.watch({ uris: [uri] })
    await end()
    const before = peer.heard.all(UPDATED).length
    await succeeds(peer, touch)
    await succeeds(peer, offer.text)
    assert.equal(peer.heard.all(UPDATED).length, before)
  },
  'changes.own': async ({ site, peer: other, offer }) => {
    const { uri, touch } = needed(offer.watched)
    const watcher = await site.quiet()
    watcher.heard.forget(UPDATED)
    const end = await watcher.watch({ uris: [uri] })
    await until(
      () => succeeds(watcher, touch),
      () => watcher.heard.next(UPDATED),
    )
    assert.deepEqual(other.heard.all(UPDATED), [], 'somebody who did not subscribe was told')
    await end()
  },
  'lists.bad-cursor': async ({ peer }) => {
    assert.equal(await refusal(peer.request('tools/list', { cursor: 'not-a-cursor' })), -32602)
  },
}

async function changes({ site, offer }: Bench, kind: 'tools' | 'prompts'): Promise<void> {
  const { touch, name } = needed(kind === 'tools' ? offer.toolChange : offer.promptChange)
  const peer = await site.quiet()
  peer.heard.forget(`notifications/${kind}/list_changed`)
  const end = await peer.watch({ lists: [kind] })
  const listed = async () => (await listAll(peer, `${kind}/list`, kind)).some((entry: Json) => entry['name'] === name)
  const before = await listed()
  let now = before
  await until(
    async () => {
      await succeeds(peer, touch)
      now = !now
    },
    () => peer.heard.next(`notifications/${kind}/list_changed`),
  )
  assert.equal(await listed(), now, 'the list is the old one')
  await end()
}
