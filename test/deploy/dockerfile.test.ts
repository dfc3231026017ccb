import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readDockerfile, type Stage } from './dockerfile.ts'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const { stages } = readDockerfile(read('deploy/docker/Dockerfile'))

/** Instructions of an image, those of what it begins with first. */
function instructionsOf(name: string): Stage['instructions'] {
  const stage = stages.find(one => one.name === name)
  return stage === undefined ? [] : [...instructionsOf(stage.from), ...stage.instructions]
}

function last(image: string, wanted: string): string | undefined {
  return instructionsOf(image).findLast(({ name }) => name === wanted)?.text
}

test('an image runs no install script, installs named versions alone, and has no secret in it', () => {
  for (const { from, instructions } of stages) {
    assert.doesNotMatch(from, /:latest$|^[^:]*\.[^:]*$/)
    for (const { name, text } of instructions) {
      assert.notEqual(name, 'ADD')
      if (name === 'ARG' || name === 'ENV') assert.doesNotMatch(text, /TOKEN|PASSWORD|SECRET|_KEY\b/i)
      if (['CMD', 'ENTRYPOINT', 'VOLUME'].includes(name)) assert.match(text, /^\[/, 'signals reach the program')
      assert.doesNotMatch(text, /(curl|wget)[^|]*\|\s*(ba)?sh|\bsudo\b/)
      if (/npm (ci|install)/.test(text)) assert.match(text, /--ignore-scripts/)
      if (/(pip|npm) install/.test(text)) assert.match(text, /==\$\{\w+\}|@\$\{\w+\}/)
    }
  }
})

test('the labels name the package, its version, and its entry in the MCP registry', () => {
  const { version, license, mcpName } = JSON.parse(read('package.json')) as Record<string, string>
  const labels = last('runtime', 'LABEL') ?? ''
  const args = instructionsOf('runtime').filter(({ name }) => name === 'ARG')

  assert.ok(labels.includes(`io.modelcontextprotocol.server.name="${String(mcpName)}"`), labels)
  assert.ok(labels.includes(`org.opencontainers.image.licenses="${String(license)}"`), labels)
  assert.match(labels, /org\.opencontainers\.image\.version="\$\{VERSION\}"/)
  assert.ok(args.some(({ text }) => text === `VERSION=${String(version)}`))
})

for (const image of ['runtime', 'tools'])
  test(`${image}: nobody in particular, one volume, its own signal and its own command for its health`, () => {
    assert.equal(last(image, 'USER'), '10001:10001')
    assert.equal(instructionsOf(image).at(-1)?.name, 'USER', 'nothing is changed as root after it')
    assert.equal(instructionsOf(image).filter(({ name }) => name === 'VOLUME').length, 1)
    assert.equal(last(image, 'VOLUME'), '["/var/lib/gateway"]')
    assert.equal(last(image, 'STOPSIGNAL'), 'SIGTERM')
    assert.match(last(image, 'HEALTHCHECK') ?? '', /\["node", "\/app\/bin\/run\.js", "ps"/)
    assert.equal(last(image, 'ENTRYPOINT'), '["node", "/app/bin/run.js"]')
    assert.equal(last(image, 'EXPOSE'), '8080 7900')
  })

test('a build without a target makes the slim image, on a Node that the gateway runs on', () => {
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } }
  const [, major = ''] = /^node:(\d+)-/.exec(stages[0]?.from ?? '') ?? []
  const [, least = ''] = /^>=(\d+)/.exec(engines.node) ?? []

  assert.equal(stages.at(-1)?.name, 'runtime')
  assert.ok(Number(major) >= Number(least))
})

test('optional packages in the image are those that are tested', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { version: string }>
  }
  const args = stages.flatMap(({ instructions }) => instructions.filter(({ name }) => name === 'ARG'))

  assert.ok(args.some(({ text }) => text === `REDIS_CLIENT=${packages['node_modules/@redis/client']?.version}`))
  const otel = ['api', 'core', 'exporter-trace-otlp-http', 'resources', 'sdk-trace'].map(
    name => `@opentelemetry/${name}`,
  )
  const tested = otel.map(name => `${name}@${packages[`node_modules/${name}`]?.version}`).join(' ')
  assert.ok(args.some(({ text }) => text === `OPENTELEMETRY="${tested}"`))
})

test('what is built from the tree is in the context, and what is nobody else’s business is not', () => {
  const ignored = read('deploy/docker/Dockerfile.dockerignore').trim().split('\n')

  for (const needed of ['src', 'plugins', 'schemas', 'scripts', 'bin', 'docs', 'package.json'])
    assert.ok(!ignored.includes(needed), needed)
  for (const secret of ['.git', '.env*', 'node_modules', 'dist']) assert.ok(ignored.includes(secret), secret)
})
