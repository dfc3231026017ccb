import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { getStateDirectory } from '../../../src/cli/load-source.ts'
import { validate } from '../../../src/cli/local/validate.ts'
import type { Terminal } from '../../../src/cli/output/terminal.ts'
import { META_TOOL_NAMES as SURFACE_TOOLS } from '../../../plugins/surface/meta-tools.ts'
import { checkUnmatched } from '../../../src/config/checks/tool-names.ts'
import { formatProblem, loadConfig, type LoadedConfig, type Problem } from '../../../src/config/index.ts'
import { createGateway } from '../../../src/index.ts'
import { closeAfter, testUpstream } from '../../../src/testing/index.ts'
import { directoryWith } from './temp.ts'
import { outputTo } from '../fixtures/silent-terminal.ts'

const TOOLS = { read_file: () => 'a', write_file: () => 'b', delete_file: () => 'c' }
const out = outputTo()

describe('what names a tool that no server lists', () => {
  it('is a warning at its place as soon as the list is known, while the server runs and from what was saved', async t => {
    const { file, cwd, environment } = await written(t, url => [
      `  files:`,
      `    type: http`,
      `    url: ${url}`,
      `    tools:`,
      `      deny: [delet_file, "write_*"]`,
      `      allow: ["*_file"]`,
      `      rename: { red_file: read }`,
      `      timeout: { write_flie: 5m }`,
      `    retry: { tools: ["list_*"] }`,
      `filters: { tools: { deny: ["files__remove_*", "files__read_*"] } }`,
      `profiles: { small: { tools: { allow: [files__raed_file, files__write_file] } } }`,
    ])
    const terminal: Terminal = { cwd, environment, out, err: out }
    const expected = [
      'gateway.yaml:8:14 /upstreams/files/tools/deny/0 "delet_file" matches no tool of "files" – did you mean "delete_file"?',
      'gateway.yaml:10:27 /upstreams/files/tools/rename/red_file "red_file" matches no tool of "files" – did you mean "read_file"?',
      'gateway.yaml:11:30 /upstreams/files/tools/timeout/write_flie "write_flie" matches no tool of "files" – did you mean "write_file"?',
      'gateway.yaml:12:22 /upstreams/files/retry/tools/0 "list_*" matches no tool of "files"',
      'gateway.yaml:13:28 /filters/tools/deny/0 "files__remove_*" matches no tool of any upstream',
      'gateway.yaml:14:39 /profiles/small/tools/allow/0 "files__raed_file" matches no tool of any upstream – did you mean "files__read_file"?',
    ]
    const before = await validate({ config: file }, terminal)
    const source = await loadConfig({ file, cwd, environment })
    const state = getStateDirectory(source, terminal) ?? ''
    mkdirSync(state, { recursive: true, mode: 0o700 })

    const unmatched = await unmatchedOf(source, state)
    const after = await validate({ config: file }, terminal)

    assert.deepEqual(before.warnings, [])
    assert.deepEqual(
      unmatched.map(problem => formatProblem(problem, cwd)),
      expected,
    )
    assert.deepEqual(
      after.warnings.map(problem => formatProblem(problem, cwd)),
      expected,
    )
  })

  it('is a warning in rules about the names that clients see too', async t => {
    const { file, cwd, environment } = await written(t, url => [
      `  files: { type: http, url: "${url}", tools: { rename: { read_file: read } } }`,
      `filters: { tools: { rename: { files__delete_file: remove } } }`,
      `policy:`,
      `  deny: [{ for: files__wirte_file, when: "true" }, "false", { for: [remove, files__read], when: "true" }]`,
      `  require: [{ for: [files__read, files__writ_file], when: "true" }]`,
      `rateLimit: { rules: { few: { tools: files__wite_file, perMinute: 1 } } }`,
      `surface: { mode: search }`,
      `shape: { tools: { files__list: { maxTokens: 500 }, call_tool: { maxTokens: 500 } } }`,
    ])

    const unmatched = await unmatchedOf(await loadConfig({ file, cwd, environment }), cwd)

    assert.deepEqual(
      unmatched.map(({ pointer, message }) => `${pointer} ${message}`),
      [
        '/policy/deny/0/for "files__wirte_file" matches no tool of any upstream',
        '/policy/require/0/for/1 "files__writ_file" matches no tool of any upstream',
        '/rateLimit/rules/few/tools "files__wite_file" matches no tool of any upstream',
        '/shape/tools/files__list "files__list" matches no tool of any upstream',
      ],
    )
  })

  it('is a warning wherever a key speaks of what clients see, but for routes to a server and what may be a URI', async t => {
    const { file, cwd, environment } = await written(t, url => [
      `  files: { type: http, url: "${url}" }`,
      `routes:`,
      `  - { match: { tool: files__hidden }, to: files }`,
      `  - { match: { tool: [files__raed_file, files__read_file] }, deny: not here }`,
      `auth: { keys: [{ name: ci, hash: "sha256:${'0'.repeat(64)}" }], rules: [{ prompts: reviw, principals: ci }] }`,
      `redact: { rules: [{ for: ["files__*", files__read_flie, web__*, "file:///x/*", "*.md", "f{ile,tp}:*"], detect: [email] }] }`,
      `audit: { file: audit.jsonl, values: [files__raed_file] }`,
      `tracing: { endpoint: "http://127.0.0.1:9/", arguments: files__raed_file, results: [files__read_file, "x*"] }`,
      `surface: { pinned: [files__raed_file] }`,
    ])

    const unmatched = await unmatchedOf(await loadConfig({ file, cwd, environment }), cwd)

    assert.deepEqual(unmatched.map(({ pointer, message }) => `${pointer} ${message}`).sort(), [
      '/audit/values/0 "files__raed_file" matches no tool or prompt of any upstream',
      '/auth/rules/0/prompts "reviw" matches no prompt of any upstream',
      '/redact/rules/0/for/1 "files__read_flie" matches no tool or prompt of any upstream',
      '/redact/rules/0/for/2 "web__*" matches no tool or prompt of any upstream',
      '/routes/1/match/tool/0 "files__raed_file" matches no tool of any upstream',
      '/surface/pinned/0 "files__raed_file" matches no tool of any upstream',
      '/tracing/arguments "files__raed_file" matches no tool of any upstream',
      '/tracing/results/1 "x*" matches no tool of any upstream',
    ])
  })

  it('knows the tools that "surface" and "fit" add', () => {
    const tools = [...Object.values(SURFACE_TOOLS), 'list_resources', 'read_resource', 'list_prompts', 'get_prompt']
    const found: unknown[] = []
    const config = { policy: { deny: [{ for: [...tools, 'run_cod'], when: 'true' }] } }

    checkUnmatched(config, new Map(), finding => found.push(finding.pointer))

    assert.deepEqual(found, [`/policy/deny/0/for/${tools.length}`])
  })

  it('is none where everything matches, or where a list is not known', async t => {
    const { file, cwd, environment } = await written(t, url => [
      `  files: { type: http, url: "${url}", tools: { deny: ["{write,delete}_*"], describe: { read_file: Reads. } } }`,
      `  away: { type: http, url: "http://127.0.0.1:9/", tools: { deny: [whatever] } }`,
      `filters: { tools: { deny: ["away__*"] } }`,
    ])

    const unmatched = await unmatchedOf(await loadConfig({ file, cwd, environment }), cwd)

    assert.deepEqual(unmatched, [])
  })
})

async function written(t: TestContext, upstreams: (url: string) => readonly string[]) {
  const web = closeAfter(t, await testUpstream({ tools: TOOLS }))
  const lines = ['version: 1', 'listeners: { pipe: { type: stdio } }', 'upstreams:', ...upstreams(web.url)]
  const cwd = directoryWith(t, { 'gateway.yaml': `${lines.join('\n')}\n` })
  return { file: join(cwd, 'gateway.yaml'), cwd, environment: { HOME: cwd } }
}

/** What a gateway that runs says of its configuration. */
async function unmatchedOf(source: LoadedConfig, state: string): Promise<readonly Problem[]> {
  const gateway = await createGateway(source, { state })
  await gateway.start()
  await gateway.settled()
  const { unmatched } = await gateway.inspect()
  await gateway.close()
  return unmatched
}
