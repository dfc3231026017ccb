import assert from 'node:assert/strict'
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { findProgram } from '../../../../src/util/find-program.ts'
import { directoryWith, skip } from '../../../fixtures/sandbox.ts'
import { bench, script, stdioSpec, textOf, toolCall } from '../../fixtures/upstream-bench.ts'

const SERVERS = path.dirname(script('probing-server.mjs'))
const PYTHON = findProgram('python3', process.env.PATH?.split(':'), '/')
const SANDBOX = { type: 'bwrap', read: [SERVERS], write: [], network: false, hide: [] } as const

/** The same server in Python. */
const PYTHON_SERVER = `import json, sys, os
for line in sys.stdin:
    message = json.loads(line)
    if 'id' not in message: continue
    answer = {'jsonrpc': '2.0', 'id': message['id']}
    if message['method'] == 'initialize':
        answer['result'] = {'protocolVersion': message['params']['protocolVersion'], 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'py', 'version': '1'}}
    elif message['method'] == 'server/discover':
        answer['error'] = {'code': -32601, 'message': 'Method not found'}
    else:
        open(os.path.expanduser('~/written'), 'w').write('x')
        answer['result'] = {'content': [{'type': 'text', 'text': os.environ['HOME']}]}
    print(json.dumps(answer), flush=True)
`

describe('in a sandbox runs', { skip, concurrency: 2 }, () => {
  it('a script that finds Node on the PATH, over a link to a package', async t => {
    const directory = directoryWith(t, {
      'tools/node_modules/pkg/server.mjs': `#!/usr/bin/env node\nimport '${SERVERS}/probing-server.mjs'\n`,
      'tools/node_modules/.bin/keep': '',
      'project/file': 'in the project',
    })
    chmodSync(`${directory}/tools/node_modules/pkg/server.mjs`, 0o755)
    symlinkSync('../pkg/server.mjs', `${directory}/tools/node_modules/.bin/server`)
    const attempt = await started(t, `${directory}/tools/node_modules/.bin/server`, [], directory)

    assert.equal(await attempt('read', { file: `${directory}/project/file` }), 'in the project')
  })

  it('npx, with a cache in a HOME of its own', async t => {
    const directory = directoryWith(t, { 'project/node_modules/.bin/local-server': '#!/usr/bin/env node\n' })
    const bin = `${directory}/project/node_modules/.bin/local-server`
    chmodSync(bin, 0o755)
    writeFileSync(bin, `#!/bin/sh\nexec node ${SERVERS}/probing-server.mjs\n`)
    const attempt = await started(t, 'npx', ['--no', 'local-server'], directory)

    const { HOME } = JSON.parse(await attempt('environment')) as { HOME: string }
    assert.equal(HOME, `${directory}/state/servers/it`)
    assert.match(await attempt('list', { file: `${HOME}/.npm` }), /_logs|_cacache|_update/)
  })

  it('Python, with its HOME and packages', { skip: PYTHON === undefined ? 'no python3 here' : false }, async t => {
    const directory = directoryWith(t, { 'project/server.py': PYTHON_SERVER })
    const attempt = await started(t, 'python3', ['server.py'], directory)

    assert.equal(await attempt('any'), `${directory}/state/servers/it`)
  })
})

/** A server in a project, with a place for its state; what it can be told to try. */
async function started(t: TestContext, command: string, args: string[], directory: string) {
  const env = { PATH: `${path.dirname(process.execPath)}:${process.env.PATH ?? ''}` }
  const spec = stdioSpec(args, {
    command,
    env,
    cwd: `${directory}/project`,
    sandbox: SANDBOX,
    startupTimeout: '60s',
  })
  const home = `${directory}/state/servers/it`
  const sandboxing = { home, listPrivatePaths: () => [{ directory: `${directory}/state` }] }
  const { upstream } = await bench(t, spec, { sandboxContext: sandboxing })
  return async (name: string, given = {}) => textOf(await upstream.dispatch(toolCall(name, given)))
}
