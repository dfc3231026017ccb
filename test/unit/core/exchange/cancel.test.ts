import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CancelListeners } from '../../../../src/core/exchange.ts'

function heard(): {
  readonly listeners: CancelListeners
  readonly names: string[]
  add(name: string): () => void
} {
  const listeners = new CancelListeners()
  const names: string[] = []
  return { listeners, names, add: name => listeners.add(reason => names.push(`${name}:${reason}`)) }
}

test('listeners hear of a cancellation once, in the order in which they came', () => {
  const { listeners, names, add } = heard()
  for (const name of ['a', 'b', 'c']) add(name)

  listeners.run('gone')
  listeners.run('again')

  assert.deepEqual(names, ['a:gone', 'b:gone', 'c:gone'])
})

test('a listener that is taken back hears nothing, wherever it stands and however often it is taken back', () => {
  for (const nth of [0, 1, 2, 3]) {
    const { listeners, names, add } = heard()
    const all = ['a', 'b', 'c', 'd']
    const takeBacks = all.map(add)

    takeBacks[nth]?.()
    takeBacks[nth]?.()
    add('e')
    listeners.run('x')

    const left = [...all.filter((_, at) => at !== nth), 'e']
    assert.deepEqual(
      names,
      left.map(name => `${name}:x`),
    )
  }
})

test('what is taken back or added while all are told changes nothing of who is told', () => {
  const { listeners, names, add } = heard()
  const takeBacks: (() => void)[] = []
  listeners.add(() => {
    for (const takeBack of takeBacks) takeBack()
    add('late')
  })
  takeBacks.push(add('a'), add('b'))

  listeners.run('first')
  listeners.run('second')

  assert.deepEqual(names, ['a:first', 'b:first', 'late:second'])
})
