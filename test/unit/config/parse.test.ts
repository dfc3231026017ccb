import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatProblem } from '../../../src/config/index.ts'
import { loadConfigObject } from '../../../src/gateway/load-config.ts'
import { problemsOf } from './temp.ts'

const WEB = {
  listeners: { pipe: { type: 'stdio' } },
  upstreams: { web: { type: 'http', url: 'https://example.com' } },
}
const parse = (value: unknown) => loadConfigObject(value, { directory: '/srv' })

async function linesFor(value: unknown): Promise<string[]> {
  const problems = await problemsOf((async () => parse(value))())
  return problems.map(problem => formatProblem(problem, '/srv'))
}

test('plain data gets the same checks, without positions', async () => {
  const lines = await linesFor({
    ...WEB,
    upstreams: { web: { ...WEB.upstreams.web, tiemout: '5s' } },
    routes: [{ match: {}, to: 'wbe' }],
  })

  assert.deepEqual(lines, [
    '/upstreams/web/tiemout unknown key "tiemout" – did you mean "timeout"?',
    '/routes/0/to no upstream "wbe" – did you mean "web"?',
  ])
})

test('plain data gets defaults and is left as it was', () => {
  const { config, origins, file, directory } = parse(WEB)

  assert.equal(config.upstreams.web?.timeout, '60s')
  assert.deepEqual(WEB.upstreams.web, { type: 'http', url: 'https://example.com' })
  assert.deepEqual(origins.get('/upstreams/web/url'), { from: 'value' })
  assert.deepEqual(origins.get('/upstreams/web/timeout'), { from: 'default' })
  assert.deepEqual([file, directory], [undefined, '/srv'])
})

test('an effective configuration can be parsed again', () => {
  const { config } = parse(WEB)

  assert.deepEqual(parse(config).config, config)
})

test('placeholders in plain data are data', () => {
  const { config } = parse({ ...WEB, server: { title: '${HOME}' } })

  assert.equal(config.server.title, '${HOME}')
})

test('what no file could hold is refused', async () => {
  const circle: Record<string, unknown> = { ...WEB }
  circle.plugins = circle

  for (const value of [undefined, null, 7, [], { ...WEB, plugins: () => 1 }, { ...WEB, log: new Date() }, circle]) {
    assert.match((await linesFor(value)).join('\n'), /expected plain data/)
  }
  assert.match((await linesFor({ ...WEB, extends: './a.yaml' })).join('\n'), /extends is only supported in files/)
})
