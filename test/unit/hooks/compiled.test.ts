import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Hooks, type PluginHooks } from '../../../src/hooks/hooks.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const exchange = {} as never

function hooksOf(name: string, said: string[]): Hooks {
  const hooks = new Hooks(() => undefined)
  const taps = (plugin: PluginHooks): void => {
    plugin.request.tap(() => void said.push(name))
    plugin.call.tap(() => void said.push(`${name} calls`))
    plugin.ready.tap(() => void said.push(`${name} is ready`))
  }
  taps(hooks.facade('one'))
  taps(hooks.facade('two'))
  hooks.seal(new Set(['one', 'two']))
  return hooks
}

async function runAll(hooks: Hooks): Promise<void> {
  await hooks.runner('request', 'tools/call')?.(exchange)
  hooks.runner('call')?.(exchange)
  await hooks.runner('ready')?.()
}

test('hooks of the same form are compiled once, and each runs its own taps', async t => {
  const said: string[] = []
  const generations = ['a', 'b', 'c'].map(name => hooksOf(name, said))
  await runAll(hooksOf('first', []))
  const Original = globalThis.Function
  let compiled = 0
  globalThis.Function = new Proxy(Original, {
    construct(target, args) {
      compiled++
      return Reflect.construct(target, args) as object
    },
  })
  cleanup(t, () => (globalThis.Function = Original))

  for (const hooks of generations) await runAll(hooks)

  assert.equal(compiled, 0)
  const each = (name: string): string[] =>
    [name, `${name} calls`, `${name} is ready`].flatMap(one => [one, one])
  assert.deepEqual(said, ['a', 'b', 'c'].flatMap(each))
})

test('a method has the taps that name it and those that name none, and methods that nobody knows share one set', () => {
  const said: string[] = []
  const hooks = new Hooks(() => undefined)
  const taps = hooks.facade('one')
  taps.call.tap({ methods: ['own/method'] }, () => void said.push('own'))
  taps.call.tap(() => void said.push('all'))
  taps.settled.tap({ methods: ['tools/call'] }, () => void said.push('settled'))
  hooks.seal(new Set(['one']))

  for (const method of ['own/method', 'tools/call', 'unknown/1']) {
    hooks.runnersFor(method).call?.(exchange)
    hooks.runnersFor(method).settled?.(exchange)
  }

  assert.deepEqual(said, ['own', 'all', 'all', 'settled', 'all'])
  assert.equal(hooks.runnersFor('unknown/1'), hooks.runnersFor('unknown/2'))
  assert.equal(hooks.runnersFor('tools/call'), hooks.runnersFor('tools/call'))
  assert.equal(hooks.runnersFor('tools/call').request, undefined)
})
