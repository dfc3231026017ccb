import assert from 'node:assert/strict'
import { appendFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { directory, gateway } from './run.ts'

const CONFIG = {
  version: 1,
  pins: 'withhold',
  upstreams: {
    team: { type: 'skills', skills: { dir: './skills' } },
    help: { type: 'skills', skills: { builtin: true } },
  },
}

test('skills of all servers are listed and shown, and a change of a file is a difference from the lock', async t => {
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify(CONFIG) })
  const file = join(cwd, 'skills', 'refunds', 'SKILL.md')
  await mkdir(join(cwd, 'skills', 'refunds'), { recursive: true })
  await writeFile(file, '---\nname: refunds\ndescription: How to refund.\n---\nAsk \u200bfirst.\n')

  const list = await gateway(['skills'], { cwd })
  const json = await gateway(['skills', '--json'], { cwd })
  const shown = await gateway(['skills', 'show', 'skill://team/refunds/SKILL.md'], { cwd })
  const unknown = await gateway(['skills', 'show', 'skill://team/refund/SKILL.md'], { cwd })
  const locked = await gateway(['lock'], { cwd })
  const same = await gateway(['lock', '--check'], { cwd })
  await appendFile(file, 'More.\n')
  const changed = await gateway(['lock', 'diff', 'team'], { cwd })
  const withheld = await gateway(['skills'], { cwd })
  const hash = /--expect (v1:[0-9a-f]{64})/.exec(changed.stdout)?.[1] ?? ''
  const accepted = await gateway(['lock', 'accept', 'team', '--expect', hash], { cwd })
  const after = await gateway(['skills'], { cwd })

  assert.match(list.stdout, /refunds +team .*How to refund/, list.stderr)
  assert.match(list.stdout, /tapgate +help/)
  const { skills } = JSON.parse(json.stdout) as { skills: { uri: string; files: number }[] }
  assert.deepEqual(skills[0]?.uri, 'skill://team/refunds/SKILL.md')
  assert.match(shown.stdout, /sha256:[0-9a-f]{64}[^]*Ask \\u200bfirst/, shown.stderr)
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /did you mean "skill:\/\/team\/refunds\/SKILL\.md"/)
  assert.match(locked.stdout, /team: skills "skill:\/\/refunds\/SKILL\.md" new, added/)
  assert.equal(same.code, 0, same.stdout)
  assert.match(changed.stdout, /changed[^]*- +"digest"[^]*\+ +"digest"/)
  assert.doesNotMatch(withheld.stdout, /refunds/)
  assert.equal(accepted.code, 0, accepted.stderr)
  assert.match(after.stdout, /refunds/)
})

const FAILING = { type: 'stdio', command: process.execPath, args: ['server.mjs'] }

/** Returns a server whose answer to `skills/list` is this expression, and which fails otherwise. */
function createServer(list: string): string {
  return `import { createInterface } from 'node:readline'
const extensions = { 'io.modelcontextprotocol/skills': {} }
const answers = {
  initialize: () => ({ result: { protocolVersion: '2025-11-25', serverInfo: { name: 'x', version: '1' }, capabilities: { extensions } } }),
  'skills/list': params => (${list}),
}
createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  const answer = answers[method]?.(params) ?? { error: { code: -32603, message: 'backend down' } }
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
})`
}

test('skills of other servers are listed if one fails, and a server that is not running is a warning', async t => {
  const gone = { type: 'skills', skills: { dir: './gone' } }
  const upstreams = { gone, help: { type: 'skills', skills: { builtin: true } }, zed: FAILING }
  const cwd = await directory(t, {
    'gateway.yaml': JSON.stringify({ version: 1, upstreams }),
    'alone.yaml': JSON.stringify({ version: 1, upstreams: { zed: FAILING } }),
    'server.mjs': createServer('undefined'),
  })
  const several = await gateway(['skills'], { cwd })
  const alone = await gateway(['skills', '-c', 'alone.yaml'], { cwd })

  assert.equal(several.code, 0)
  assert.match(several.stdout, /tapgate/)
  assert.match(several.stderr, /warning gone: .*not found/)
  assert.equal(alone.code, 8)
  assert.match(alone.stderr, /backend down/)
  assert.doesNotMatch(alone.stderr, /--help/)
})

test('a server that repeats its cursor is a warning, and its skills are listed once', async t => {
  const skill =
    "{ uri: 'skill://loop/SKILL.md', frontmatter: { name: 'loop', description: 'x' }, resources: 'dynamic' }"
  const cwd = await directory(t, {
    'gateway.yaml': JSON.stringify({ version: 1, upstreams: { zed: FAILING } }),
    'server.mjs': createServer(`{ result: { skills: params.cursor ? [] : [${skill}], nextCursor: 'same' } }`),
  })
  const { code, stdout, stderr } = await gateway(['skills'], { cwd })

  assert.equal(code, 0)
  assert.match(stdout, /loop/)
  assert.match(stderr, /cursor "zed:same"/)
})

test('a skill whose server fails is shown as the error of the server', async t => {
  const cwd = await directory(t, {
    'gateway.yaml': JSON.stringify({ version: 1, upstreams: { zed: FAILING } }),
    'server.mjs': createServer('{ result: { skills: [] } }'),
  })
  const { code, stderr } = await gateway(['skills', 'show', 'skill://zed/x/SKILL.md'], { cwd })

  assert.equal(code, 8)
  assert.match(stderr, /backend down/)
  assert.doesNotMatch(stderr, /--help/)
})

test('a skill that is not text is shown with its size', async t => {
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify(CONFIG) })
  await mkdir(join(cwd, 'skills', 'blob'), { recursive: true })
  const text = '---\nname: blob\ndescription: Bytes.\n---\n'
  await writeFile(join(cwd, 'skills', 'blob', 'SKILL.md'), Buffer.concat([Buffer.from(text), Buffer.from([0xff])]))
  const { stdout, stderr } = await gateway(['skills', 'show', 'skill://team/blob/SKILL.md'], { cwd })

  assert.match(stdout, new RegExp(`binary.*${text.length + 1} B`), stderr)
  assert.doesNotMatch(stdout, /undefined/)
})
