import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdir, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { parse } from 'yaml'
import { buildSingleFile } from '../../scripts/release/single-file.ts'
import { directory, PACKAGE } from '../e2e/cli/run.ts'
import { cleanup } from '../fixtures/cleanup.ts'
import { requireBuild } from '../peers/gateway.ts'

const run = promisify(execFile)
const EVERYTHING = join(PACKAGE, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const FILES = join(PACKAGE, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js')
const CHANGING = join(PACKAGE, 'test/fixtures/servers/changing-server.mjs')
const TOOL = { name: 'add', description: 'Adds.', inputSchema: { type: 'object' } }
const config = (...servers: string[]): string => `version: 1\nupstreams:\n${servers.join('')}`
const server = (name: string, ...args: string[]): string =>
  `  ${name}: { type: stdio, command: ${process.execPath}, args: ${JSON.stringify(args)} }\n`
const HELP = '  help: { type: skills, skills: { builtin: true } }\n'

before(requireBuild)

/** The packed tarball in a folder of its own. */
async function pack(t: TestContext): Promise<string> {
  const cwd = await directory(t)
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', cwd], {
    cwd: PACKAGE,
  })
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
  return join(cwd, filename)
}

/** Runs the program in an empty home. */
async function home(t: TestContext, program: string) {
  const cwd = await directory(t)
  const env = { PATH: process.env.PATH, HOME: cwd, LANG: 'C.UTF-8' }
  const gateway = async (...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
    run(program, args, { cwd, env }).then(
      output => ({ code: 0, ...output }),
      (error: unknown) => error as { code: number; stdout: string; stderr: string },
    )
  cleanup(t, () => gateway('down'))
  return { cwd, env, gateway }
}

/** What the README does in the first hour: a mistake, a gateway, a client, a change. */
async function passFirstHour(t: TestContext, program: string): Promise<void> {
  const { cwd, env, gateway } = await home(t, program)
  await mkdir(join(cwd, '.claude'), { recursive: true })
  await writeFile(join(cwd, 'gateway.yaml'), config(server('everything', EVERYTHING)).replace('command', 'comand'))
  const mistake = await gateway('validate')
  await writeFile(join(cwd, 'gateway.yaml'), config(server('everything', EVERYTHING)))
  const valid = await gateway('validate', '--json')
  const up = await gateway('up')
  const sum = await gateway('call', 'everything__get-sum', 'a=2', 'b=3')
  await writeFile(
    join(cwd, 'gateway.yaml'),
    config(server('everything', EVERYTHING), server('files', FILES, cwd), HELP),
  )
  const plan = await gateway('plan')
  const reload = await gateway('reload')
  const ps = await gateway('ps', '--json')
  const skill = await gateway('skills', 'show', 'skill://help/tapgate/SKILL.md')
  const connected = await gateway('connect', 'claude-code', '--yes')
  const { mcpServers } = JSON.parse(await readFile(join(cwd, '.claude.json'), 'utf8')) as {
    mcpServers: { gateway: { command: string; args: string[] } }
  }
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StdioClientTransport({ ...mcpServers.gateway, env: env as Record<string, string>, cwd })
  await client.connect(transport)
  const { tools } = await client.listTools()
  await client.close()
  const down = await gateway('down')

  assert.equal(mistake.code, 3)
  assert.match(mistake.stderr, /did you mean "command"/)
  assert.equal((JSON.parse(valid.stdout) as { valid: boolean }).valid, true)
  assert.equal(up.code, 0, up.stderr)
  assert.match(sum.stdout, /The sum of 2 and 3 is 5/)
  assert.equal(plan.code, 6, plan.stderr)
  assert.match(skill.stdout, /One gateway in front of many MCP servers/, skill.stderr)
  assert.match(plan.stdout, /files is started/)
  assert.equal(reload.code, 0, reload.stderr)
  assert.match(ps.stdout, /"files"/)
  assert.equal(connected.code, 0, connected.stderr)
  for (const name of ['everything__get-sum', 'files__read_text_file'])
    assert.ok(
      tools.some(tool => tool.name === name),
      name,
    )
  assert.equal(down.code, 0, down.stderr)
}

test('the packed package passes the first hour from an empty prefix, by both names', async t => {
  const tarball = await pack(t)
  const prefix = await directory(t)
  const npm = ['install', '--global', '--prefix', prefix, '--prefer-offline', '--omit=optional', tarball]
  await run('npm', npm, { cwd: prefix })
  const bin = process.platform === 'win32' ? prefix : join(prefix, 'bin')

  await passFirstHour(t, join(bin, 'gateway'))

  assert.match((await run(join(bin, 'tapgate'), ['--version'])).stdout, /^tapgate\//)
  const scopes = await readdir(join(prefix, 'lib/node_modules/tapgate/node_modules'))
  assert.ok(scopes.length < 60, `${scopes.length} packages and scopes`)
})

test('the single file passes the first hour in an empty home without Node', async t => {
  const folder = await directory(t)
  const file = buildSingleFile(await pack(t), 'gateway', folder)
  assert.ok((await stat(file)).size < 150 * 1024 * 1024)

  await passFirstHour(t, file)

  // Without a writable home, and after its files were deleted.
  const temporary = await directory(t)
  const readOnly = await run(file, ['--version'], { cwd: folder, env: { HOME: '/dev/null', TMPDIR: temporary } })
  const env = { HOME: folder }
  const first = await run(file, ['--version'], { cwd: folder, env })
  const launcher = join(
    folder,
    '.cache/tapgate',
    (await readdir(join(folder, '.cache/tapgate'))).find(name => name.startsWith('files-')) ?? '',
    'bin/run.js',
  )
  await rm(join(folder, '.cache'), { recursive: true })
  const again = await run(file, [launcher, '--version'], { cwd: folder, env })

  for (const { stdout, stderr } of [readOnly, first, again]) {
    assert.match(stdout, /^tapgate\/\d/)
    assert.equal(stderr, '')
  }
})

interface Action {
  readonly runs: { readonly steps: readonly { name?: string; run?: string; env?: Record<string, string> }[] }
}

test('the steps of the GitHub action run as they are written', { skip: process.platform === 'win32' }, async t => {
  const { runs } = parse(await readFile(join(PACKAGE, 'action.yml'), 'utf8')) as Action
  const cwd = await directory(t, {
    'gateway.yaml': config(server('mind', CHANGING, 'offer.json')),
    'offer.json': JSON.stringify({ tools: [TOOL] }),
  })
  const bin = await directory(t, {
    tapgate: `#!/bin/sh\nexec ${process.execPath} ${join(PACKAGE, 'bin/run.js')} "$@"\n`,
  })
  const git = (...args: string[]) =>
    run('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], { cwd })
  await run('chmod', ['+x', join(bin, 'tapgate')])
  await writeFile(join(cwd, 'gateway.prod.yaml'), 'log: { level: warn }\n')
  await git('init', '--quiet')
  await git('add', '.')
  await git('commit', '--quiet', '--message', 'first')
  await git('remote', 'add', 'origin', cwd)
  const { stdout } = await git('rev-parse', 'HEAD')
  const env = {
    ...process.env,
    ...{ PATH: `${bin}:${process.env.PATH ?? ''}`, HOME: cwd, CONFIG: 'gateway.yaml', GATEWAY_ENV: '' },
    ...{ BASE: stdout.trim(), GITHUB_STEP_SUMMARY: join(cwd, 'summary.md') },
  }
  const step = (name: string, GATEWAY_ENV = '') => {
    const script = runs.steps.find(one => one.name === name)?.run ?? ''
    return spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
      cwd,
      env: { ...env, GATEWAY_ENV },
      encoding: 'utf8',
    })
  }
  const unchanged = step('Plan', 'prod')
  await writeFile(
    join(cwd, 'gateway.yaml'),
    config(server('mind', CHANGING, 'offer.json'), server('files', FILES, '.')),
  )
  const valid = step('Validate')
  const unlocked = step('Compare with gateway.lock')
  const plan = step('Plan')
  await run(join(bin, 'tapgate'), ['lock'], { cwd, env })
  const locked = step('Compare with gateway.lock')
  await writeFile(join(cwd, 'offer.json'), JSON.stringify({ tools: [{ ...TOOL, description: 'Deletes.' }] }))
  const drifted = step('Compare with gateway.lock')
  await writeFile(join(cwd, 'gateway.yaml'), 'version: 1\nupstream: {}\n')
  const invalid = step('Validate')

  assert.match(unchanged.stdout, /no changes/, unchanged.stderr)
  assert.equal(valid.status, 0, valid.stderr)
  assert.match(unlocked.stdout, /no gateway.lock/)
  assert.equal(plan.status, 0, plan.stderr)
  assert.match(await readFile(join(cwd, 'summary.md'), 'utf8'), /files is started/)
  assert.equal(locked.status, 0, locked.stderr)
  assert.equal(drifted.status, 6, drifted.stderr)
  assert.match(drifted.stdout, /^::error file=gateway\.lock,title=pin-changed::/m)
  assert.equal(invalid.status, 3)
  assert.match(
    invalid.stdout,
    /^::error file=gateway\.yaml,line=2,col=1,title=config-invalid::.*did you mean "upstreams"/m,
  )
})
