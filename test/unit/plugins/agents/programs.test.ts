import assert from 'node:assert/strict'
import { realpathSync } from 'node:fs'
import { chmod, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createGateway, type Gateway } from '../../../../src/gateway/gateway.ts'
import type { JsonObject, Log } from '../../../../src/plugin.ts'
import { agentsSetting } from './setting.ts'

/** All that is warned of while a gateway with these agents is there. */
async function warnings(
  directory: string,
  agents: JsonObject,
  use: (gateway: Gateway) => Promise<unknown> = gateway => gateway.inspect(),
): Promise<string[]> {
  const warned: string[] = []
  const nothing = (): void => undefined
  const log: Log = {
    ...{ debug: nothing, info: nothing, error: nothing },
    warn: message => void warned.push(message),
    child: () => log,
  }
  const gateway = await createGateway(withAgents(agents), { directory, log, state: join(directory, 'state') })
  try {
    await use(gateway)
  } finally {
    await gateway.close()
  }
  return warned
}

function withAgents(agents: JsonObject): JsonObject {
  return { version: 1, agents: { roots: ['work'], ...agents } }
}

test('a program that may never run is refused by its real path before anything starts, and one that is not there is warned of', async t => {
  const { directory } = await agentsSetting(t)
  const real = join(directory, 'real-agent')
  await writeFile(real, '#!/bin/sh\n')
  await chmod(real, 0o755)
  await symlink(real, join(directory, 'linked'))
  const agents = (command: string): JsonObject => ({ list: { one: { command } }, commands: ['/nowhere/*'] })

  await assert.rejects(warnings(directory, agents('./linked')), ({ message }: Error) => {
    assert.ok(message.includes(`agents.list.one.command: cannot run "./linked": ${realpathSync(real)}`), message)
    return true
  })
  const [warned] = await warnings(directory, agents('./gone'))
  assert.match(warned ?? '', /agents\.list\.one\.command: cannot run "\.\/gone": not found/)
  assert.deepEqual(await warnings(directory, { ...agents('./linked'), commands: [realpathSync(real)] }), [])
})

test('another file for the tasks is taken at the next start, which is said once', async t => {
  const { directory, agent } = await agentsSetting(t)
  const list = { one: agent() }
  const warned = await warnings(directory, { list }, async gateway => {
    await gateway.start()
    await gateway.settled()
    const other = { list, tasks: { file: 'other.db' } }
    await gateway.reload(withAgents(other))
    await gateway.reload(withAgents({ ...other, prefix: 'x_' }))
  })

  assert.deepEqual(
    warned.filter(message => message.includes('tasks.file')),
    ['agents.tasks.file has changed; restart the gateway to apply it'],
  )
  await assert.rejects(stat(join(directory, 'other.db')))
})
