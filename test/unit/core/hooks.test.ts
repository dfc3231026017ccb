import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { GatewayError } from '../../../src/errors/errors.ts'
import { Hooks, type PluginHooks } from '../../../src/hooks/hooks.ts'
import type { Answer, Exchange, Session } from '../../../src/api/index.ts'
import { Payload } from '../../../src/protocol/payload.ts'

const exchange = { method: 'tools/call' } as Exchange
const session = {} as Session
const answer = (value: string): Answer => ({ result: Payload.of({ value }) })

/** Hooks with plugins a, b, c … tapped by the functions given, sealed. */
function tapped(...setups: ((hooks: PluginHooks) => void)[]): { hooks: Hooks; reported: unknown[] } {
  const reported: unknown[] = []
  const hooks = new Hooks(error => reported.push(error))
  const names = setups.map((_, index) => String.fromCharCode(97 + index))
  setups.forEach((setup, index) => setup(hooks.createFacade(names[index] as string)))
  hooks.seal(new Set(names))
  return { hooks, reported }
}

async function failureOf(run: () => unknown): Promise<GatewayError> {
  try {
    await run()
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('it did not fail')
}

describe('the traps of tapable are closed', () => {
  test('a second tap that throws synchronously settles the hook and names its plugin', async () => {
    const { hooks } = tapped(
      h => h.request.tap(async () => undefined),
      h =>
        h.request.tap(() => {
          throw new Error('boom')
        }),
    )
    const error = await failureOf(() => hooks.getRunner('request', 'tools/call')?.(exchange))
    assert.equal(error.code, 'GW_PLUGIN_FAILED')
    assert.deepEqual([error.fields.plugin, error.fields.hook, (error.cause as Error).message], ['b', 'request', 'boom'])
  })

  test('a promise from a synchronous hook is refused by name, and its rejection does not escape', async () => {
    const { hooks } = tapped(h => h.call.tap((() => Promise.reject(new Error('later'))) as never))
    const error = await failureOf(() => hooks.getRunner('call')?.({} as never))
    assert.match(String(error.cause), /"call" is synchronous/)
  })

  test('before names a plugin that must exist', () => {
    assert.throws(() => tapped(h => h.request.tap({ before: 'typo' }, () => undefined)), {
      code: 'GW_HOOK_UNKNOWN',
    })
  })

  test('a tap after setup is refused', () => {
    let late: PluginHooks | undefined
    tapped(h => (late = h))
    assert.throws(() => late?.request.tap(() => undefined), { code: 'GW_HOOK_SEALED' })
  })

  test('a tap that is no function is refused at once', () => {
    assert.throws(() => tapped(h => h.request.tap(undefined as never)), { code: 'GW_PLUGIN_SETUP' })
  })

  test('what a tap throws on purpose keeps its own code', async () => {
    const { hooks } = tapped(h =>
      h.session.tap(() => {
        throw new GatewayError('GW_STOPPING')
      }),
    )
    assert.equal((await failureOf(() => hooks.getRunner('session')?.(session))).code, 'GW_STOPPING')
  })
})

describe('order', () => {
  test('is by stage, then by installation, with before on top', () => {
    const { hooks } = tapped(
      h => h.request.tap({ stage: 'policy' }, () => undefined),
      h => h.request.tap(() => undefined),
      h => h.request.tap({ stage: 'trace' }, () => undefined),
      h => h.request.tap(() => undefined),
      h => h.request.tap({ before: 'b' }, () => undefined),
    )
    assert.deepEqual(hooks.listPlugins('request'), ['c', 'e', 'b', 'd', 'a'])
  })

  test('is mirrored on the way back, ties included', async () => {
    const seen: string[] = []
    const note = (name: string) => (h: PluginHooks) => {
      h.request.tap(() => void seen.push(`${name}>`))
      h.response.tap(value => {
        seen.push(`<${name}`)
        return value
      })
    }
    const { hooks } = tapped(note('a'), note('b'), note('c'))
    await hooks.getRunner('request')?.(exchange)
    await hooks.getRunner('response')?.(answer('x'), exchange)
    assert.deepEqual(seen, ['a>', 'b>', 'c>', '<c', '<b', '<a'])
    assert.deepEqual(hooks.listPlugins('response'), ['c', 'b', 'a'])
  })
})

describe('a tap that names its methods', () => {
  test('runs on those, and the hook costs nothing on others', async () => {
    const seen: string[] = []
    const { hooks } = tapped(h => h.request.tap({ methods: ['tools/call'] }, x => void seen.push(x.method)))
    await hooks.getRunner('request', 'tools/call')?.(exchange)
    assert.deepEqual(seen, ['tools/call'])
    assert.equal(hooks.getRunner('request', 'tools/list'), undefined)
    assert.equal(hooks.getRunner('response', 'tools/call'), undefined)
  })
})

describe('a hook that must go on', () => {
  test('reports what one tap throws and runs the others', () => {
    const seen: string[] = []
    const { hooks, reported } = tapped(
      h =>
        h.settled.tap(() => {
          throw new Error('x')
        }),
      h => h.settled.tap(() => void seen.push('b')),
    )
    hooks.getRunner('settled')?.(exchange)
    assert.deepEqual(seen, ['b'])
    assert.equal((reported[0] as GatewayError).fields.plugin, 'a')
  })

  test('closes every plugin in reverse, whatever one of them does', async () => {
    const seen: string[] = []
    const { hooks, reported } = tapped(
      h => h.close.tap(() => void seen.push('a')),
      h => h.close.tap(() => Promise.reject(new Error('x'))),
      h => h.close.tap(async () => void seen.push('c')),
    )
    await hooks.getRunner('close')?.()
    assert.deepEqual(seen, ['c', 'a'])
    assert.equal(reported.length, 1)
  })
})
