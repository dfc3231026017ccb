import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Containment, Worktree } from '../../../../../plugins/agents/containment.ts'
import { ANN, deskOf, FakeHost, fileOf, REFERENCED, request, says, settled } from './kit.ts'

const WORKTREE: Worktree = {
  cwd: '/apart',
  warnings: ['submodules are empty in the worktree'],
  changes: () => Promise.resolve({ diff: '', files: [] }),
}

test('what a worktree does not have is said in the result', async context => {
  const worktree = (): Promise<Worktree> => Promise.resolve(WORKTREE)
  const service = deskOf(context, [new FakeHost('a', says('x'))], { containment: { worktree } })
  const { id } = await service.delegate(request({ isolation: 'worktree' }), ANN)

  assert.deepEqual((await settled(service, id)).warnings, WORKTREE.warnings)
})

test('worktrees of tasks that are forgotten go, and those of sessions that go on stay', async context => {
  let time = 1_000_000
  const rounds: (() => void)[] = []
  const kept: Record<string, boolean>[] = []
  let ids: string[] = []
  const prune: Containment['prune'] = isKept => {
    kept.push(Object.fromEntries(ids.map(id => [id, isKept(id)])))
    return Promise.resolve([])
  }
  const options = {
    ...{
      file: fileOf(context),
      now: () => time,
      tasks: { ttl: '1m', max: 100, maxPerCaller: 10, keepPrompt: true },
      containment: { prune },
    },
    clock: {
      now: () => REFERENCED.now(),
      after: (ms: number, then: () => void) =>
        ms === 30_000 ? (rounds.push(then), () => undefined) : REFERENCED.after(ms, then),
    },
  }
  const service = deskOf(context, [new FakeHost('a', says('x'))], options)
  const first = await settled(service, (await service.delegate(request(), ANN)).id)
  const other = await settled(service, (await service.delegate(request(), ANN)).id)
  time += 50_000
  const next = await settled(service, (await service.delegate(request({ continues: first.id }), ANN)).id)
  ids = [first.id, other.id]
  time += 20_000
  rounds.pop()?.()

  assert.equal(service.view(first.id, 'ann'), undefined)
  assert.ok(service.view(next.id, 'ann'))
  assert.deepEqual(kept.at(-1), { [first.id]: true, [other.id]: false })
  rounds.pop()?.()
  assert.equal(kept.length, 2, 'at the start, and when something was forgotten')
})
