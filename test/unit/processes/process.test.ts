import { fileURLToPath } from 'node:url'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import {
  createChildEnvironment,
  listProgramVariables,
  listServerVariables,
} from '../../../src/processes/environment.ts'
import {
  badServer,
  bench,
  fasterClock,
  fixture,
  isAlive,
  script,
  stdioSpec,
  textOf,
  toolCall,
} from '../fixtures/upstream-bench.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'

describe('a server process', { concurrency: 4 }, () => {
  it('gets the variables it may inherit, those that are set for it, and no others', async t => {
    const environment = { PATH: process.env.PATH, SECRET: 's', LANG: 'C' }
    const spec = stdioSpec([fixture('servers/sdk-v1-server.ts')], {
      inheritEnv: ['PATH', 'LANG', 'ABSENT'],
      env: { OWN: '1', LANG: 'de' },
    })
    const { upstream } = await bench(t, spec, { environment })

    const { env } = JSON.parse(textOf(await upstream.dispatch(toolCall('environment')))) as {
      env: Record<string, string>
    }

    delete env.NODE_TEST_CONTEXT
    assert.match(env.TAPGATE_RUN ?? '', /^tapgate:\d+:\d+:[0-9a-f]{32}:[0-9a-f]{12}:1:it$/)
    delete env.TAPGATE_RUN
    assert.deepEqual(env, { PATH: process.env.PATH, OWN: '1', LANG: 'de' })
  })

  it('inherits what leads to the network, and what is named comes on top of what every server gets', () => {
    const names = [
      ...[
        'NODE_EXTRA_CA_CERTS',
        'SSL_CERT_FILE',
        'SSL_CERT_DIR',
        'NO_PROXY',
        'HTTP_PROXY',
        'HTTPS_PROXY',
        'http_proxy',
      ],
      ...['https_proxy', 'no_proxy', 'ALL_PROXY', 'npm_config_https_proxy', 'npm_config_cafile'],
    ]
    const network = Object.fromEntries(names.map(name => [name, `of ${name}`]))
    const environment = { ...network, PATH: '/bin', HOME: '/home/ada', MINE: '1', AWS_SECRET_ACCESS_KEY: 's' }

    const named = createChildEnvironment(environment, listServerVariables(['MINE']), { HOME: '/elsewhere' })

    assert.deepEqual({ ...named.env }, { ...network, PATH: '/bin', HOME: '/elsewhere', MINE: '1' })
    const program = createChildEnvironment(environment, listProgramVariables(['PATH']), {})
    assert.deepEqual({ ...program.env }, { ...network, PATH: '/bin' })
  })

  it('runs in a directory relative to the configuration', async t => {
    const directory = realpathSync(mkdtempSync(path.join(tmpdir(), 'process-')))
    cleanup(t, () => rmSync(directory, { recursive: true }))
    const { upstream } = await bench(
      t,
      stdioSpec([fixture('servers/sdk-v1-server.ts')], { cwd: path.basename(directory) }),
      { directory: path.dirname(directory) },
    )

    const { cwd } = JSON.parse(textOf(await upstream.dispatch(toolCall('environment')))) as { cwd: string }

    assert.equal(cwd, directory)
  })

  it('is not started in a directory that does not exist, and says so', async t => {
    const { upstream } = await bench(t, stdioSpec([fixture('servers/sdk-v1-server.ts')], { cwd: 'no/such/place' }))

    await upstream.start()

    assert.match(upstream.problem ?? '', /working directory .*no\/such\/place does not exist/)
  })

  it('gets its arguments as they are, without a shell', async t => {
    const { upstream } = await bench(t, stdioSpec([script('argument-server.mjs'), '$HOME; echo "hi" && *']))

    assert.equal(textOf(await upstream.dispatch(toolCall('any'))), '["$HOME; echo \\"hi\\" && *"]')
  })

  it('has its stderr logged with its name, without colours, and not too fast', async t => {
    const { upstream, logs } = await bench(t, stdioSpec([script('noisy-server.mjs')]))

    await upstream.dispatch(toolCall('any'))

    const lines = logs.filter(line => line.fields.stream === 'stderr')
    assert.equal(lines[0]?.message, 'red')
    assert.equal(lines[0]?.fields.upstream, 'it')
    await upstream.stop()
    assert.ok(lines.length <= 201, String(lines.length))
    assert.ok(logs.some(line => line.message.includes('lines dropped') && Number(line.fields.count) > 0))
  })
})

describe('stopping a server process', { concurrency: 4 }, () => {
  it('ends it by the end of its stdin', async t => {
    const { upstream } = await bench(t, badServer('good'))
    await upstream.start()
    const pid = upstream.pid ?? assert.fail()

    await upstream.stop()

    assert.equal(isAlive(pid), false)
    assert.equal(upstream.state, 'stopped')
  })

  it('ends one that ignores both the end of its stdin and SIGTERM', async t => {
    // Two seconds are waited for each of the two.
    const spec = { ...badServer('stubborn'), startupTimeout: '5m' }
    const { upstream } = await bench(t, spec, { clock: fasterClock(5) })
    await upstream.start()
    const pid = upstream.pid ?? assert.fail()

    await upstream.stop()

    assert.equal(isAlive(pid), false)
  })

  it('ends what a server leaves behind when it dies by itself', async t => {
    const { upstream, stderr } = await bench(t, badServer('grandchild'))
    await upstream.start()
    await until(() => stderr().length > 0, 'the grandchild runs')
    const { grandchild } = JSON.parse(stderr()[0] ?? '') as { grandchild: number }

    process.kill(upstream.pid ?? assert.fail(), 'SIGKILL')

    await until(() => !isAlive(grandchild), 'the grandchild is gone')
  })

  it('in the middle of its start leaves nothing', async t => {
    const { upstream } = await bench(t, badServer('silent'))
    const started = upstream.start()
    await new Promise(resolve => setImmediate(resolve))

    await upstream.stop()

    await started
    assert.equal(upstream.state, 'stopped')
    await assert.rejects(upstream.dispatch(toolCall('echo')), /stopped/)
  })

  it('leaves nothing when the gateway exits without stopping anything', async () => {
    const gateway = spawn(
      process.execPath,
      [fileURLToPath(new URL('../fixtures/exits-without-stop.ts', import.meta.url))],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    let output = ''
    gateway.stdout.on('data', chunk => (output += String(chunk)))

    const code = await new Promise(resolve => gateway.once('exit', resolve))

    assert.equal(code, 7)
    await until(() => !isAlive(Number(output)), 'the server is gone')
  })
})

describe('the environment of a child', { concurrency: 4 }, () => {
  it('never inherits what would load code into it, unless its own configuration sets it', () => {
    const environment = { LD_PRELOAD: '/a.so', NODE_OPTIONS: '--import x', PATH: '/bin' }

    const { env, refused } = createChildEnvironment(environment, ['LD_PRELOAD', 'NODE_OPTIONS', 'PATH', '__proto__'], {
      NODE_OPTIONS: '--own',
    })

    assert.deepEqual({ ...env }, { PATH: '/bin', NODE_OPTIONS: '--own' })
    assert.deepEqual(refused, ['LD_PRELOAD'])
  })
})
