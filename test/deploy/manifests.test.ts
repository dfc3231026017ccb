import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import { parse } from 'yaml'
import { directory, gateway } from '../e2e/cli/run.ts'
import type { Outcome } from '../fixtures/run-command.ts'
import { render } from './template.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const CHART = join(ROOT, 'deploy/helm/tapgate')
const KUSTOMIZE = join(ROOT, 'deploy/kustomize')
const RELEASE = { Name: 'gateway', Namespace: 'default' }

type Json = Record<string, unknown>

const schemas = JSON.parse(readFileSync(join(ROOT, 'test/fixtures/kubernetes/schemas.json'), 'utf8')) as {
  kinds: Record<string, { $ref: string }>
}
const ajv = new Ajv({ strict: false, allErrors: true })
ajv.addSchema(schemas, 'kubernetes')
const valuesSchema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as Json
const isValues = new Ajv({ strict: false }).compile(valuesSchema)
const defaults = read(join(CHART, 'values.yaml'))

const CLUSTER = { cluster: { enabled: true }, autoscaling: { enabled: true } }
const ALL = {
  ...CLUSTER,
  publicUrl: 'https://mcp.example.com',
  host: '::',
  serviceMonitor: { enabled: true },
  config: { upstreams: { web: { type: 'http', url: 'https://example.com/mcp' } }, lists: { pageSize: 100 } },
}

function read(file: string): Json {
  return parse(readFileSync(file, 'utf8')) as Json
}

/** Values as Helm merges them: maps into maps, all else replaced. */
function merged(one: unknown, other: unknown): unknown {
  if (!isMap(one) || !isMap(other)) return other
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])]
  return Object.fromEntries(keys.map(key => [key, key in other ? merged(one[key], other[key]) : one[key]]))
}

function isMap(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects that the chart makes, by kind and name. */
function helm(values: Json): Map<string, Json> {
  const all = merged(defaults, values) as Json
  assert.ok(isValues(all), JSON.stringify(isValues.errors))
  const folder = join(CHART, 'templates')
  const texts = readdirSync(folder).map(file =>
    render(readFileSync(join(folder, file), 'utf8'), { Values: all, Release: RELEASE }),
  )
  return byName(texts.map(text => parse(text) as Json | null).filter(object => object !== null))
}

function byName(objects: readonly Json[]): Map<string, Json> {
  return new Map(objects.map(object => [`${String(object.kind)}/${String((object.metadata as Json).name)}`, object]))
}

/** The objects of a kustomization: resources, a generated map, and patches. */
function kustomize(folder: string): Map<string, Json> {
  const {
    resources,
    configMapGenerator,
    patches = [],
  } = read(join(folder, 'kustomization.yaml')) as {
    resources: string[]
    configMapGenerator: { name: string; files: string[]; behavior?: string }[]
    patches?: { path: string }[]
  }
  const objects = new Map<string, Json>()
  for (const name of resources) {
    const found = name.endsWith('.yaml') ? byName([read(join(folder, name))]) : kustomize(join(folder, name))
    for (const [key, object] of found) objects.set(key, object)
  }
  for (const { name, files, behavior } of configMapGenerator) {
    const key = `ConfigMap/${name}`
    assert.equal(objects.has(key), behavior === 'replace')
    const data = Object.fromEntries(files.map(file => [file, readFileSync(join(folder, file), 'utf8')]))
    objects.set(key, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data })
  }
  for (const { path } of patches) {
    const patch = read(join(folder, path))
    const key = `${String(patch.kind)}/${String((patch.metadata as Json).name)}`
    objects.set(key, patched(objects.get(key), patch) as Json)
  }
  return objects
}

function patched(object: unknown, patch: unknown): unknown {
  if (!isMap(object) || !isMap(patch)) return patch
  const changed = Object.entries(patch).map(([key, value]) => [key, value && patched(object[key], value)] as const)
  const all = { ...object, ...Object.fromEntries(changed) }
  return Object.fromEntries(Object.entries(all).filter(([key]) => patch[key] !== null))
}

function assertKnown(object: Json): void {
  const kind = `${String(object.apiVersion)}/${String(object.kind)}`
  if (kind === 'monitoring.coreos.com/v1/ServiceMonitor') return
  const ref = schemas.kinds[kind]?.$ref
  assert.ok(ref !== undefined, `${kind} has a schema`)
  const check = ajv.getSchema(`kubernetes${ref}`)
  assert.ok(check?.(object), `${kind}: ${JSON.stringify(check?.errors?.slice(0, 3))}`)
}

/** Validates the gateway.yaml of a ConfigMap, as a pod would read it. */
async function validated(t: TestContext, objects: ReadonlyMap<string, Json>): Promise<Outcome> {
  const { 'gateway.yaml': text = '' } = objects.get('ConfigMap/gateway')?.data as Record<string, string>
  const key = Buffer.alloc(32, 1).toString('base64')
  const cwd = await directory(t, {
    'gateway.yaml': text.replaceAll('/etc/gateway/secrets', '.'),
    'keys.txt': '',
    'cluster-key': key,
  })
  return gateway(['validate'], { cwd, env: { POD_IP: '10.0.0.11' } })
}

test('the chart and the kustomizations are what their source makes', () => {
  const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'scripts/deploy.ts'), '--check'])

  assert.equal(status, 0, String(stderr))
})

for (const [name, objects] of [
  ['kustomize base', () => kustomize(join(KUSTOMIZE, 'base'))],
  ['kustomize redis', () => kustomize(join(KUSTOMIZE, 'redis'))],
  ['chart, by default', () => helm({})],
  ['chart, replicas', () => helm(CLUSTER)],
  ['chart, everything', () => helm(ALL)],
] as const)
  test(`${name}: Kubernetes knows every key, and the gateway its configuration`, async t => {
    const all = objects()

    for (const object of all.values()) assertKnown(object)
    const { code, stderr } = await validated(t, all)
    assert.equal(code, 0, stderr)
    // Upstreams are what operators add.
    assert.doesNotMatch(stderr.replace(/^.*no upstreams configured:.*\n|^1 warning\n/gm, ''), /warning/)
  })

test('kustomize and the chart make the same', () => {
  const plain = helm({})
  const cluster = helm(CLUSTER)
  for (const [ours, theirs] of [
    [kustomize(join(KUSTOMIZE, 'base')), plain],
    [kustomize(join(KUSTOMIZE, 'redis')), cluster],
  ] as const) {
    assert.deepEqual([...ours.keys()].sort(), [...theirs.keys()].sort())
    for (const [key, object] of ours)
      if (!key.startsWith('ConfigMap/')) assert.deepEqual(object, withoutDigest(theirs.get(key)), key)
  }
})

/** Without the annotation that rolls pods of the chart; a kustomization names its map anew. */
function withoutDigest(object: Json | undefined): unknown {
  return JSON.parse(JSON.stringify(object, (key, value: unknown) => (key === 'annotations' ? undefined : value)))
}

test('a pod has time for its delay, its grace and five seconds', () => {
  const shutdown = { delaySeconds: 20, graceSeconds: 60 }
  const objects = helm({ shutdown })
  const { spec } = podOf(objects)
  const { 'gateway.yaml': text = '' } = objects.get('ConfigMap/gateway')?.data as Record<string, string>

  assert.equal(spec.terminationGracePeriodSeconds, 85)
  assert.deepEqual((parse(text) as Json).shutdown, { delay: '20s', grace: '60s' })
})

function podOf(objects: ReadonlyMap<string, Json>): { readonly spec: Json } {
  const { template } = objects.get('Deployment/gateway')?.spec as { template: { spec: Json } }
  return template
}

test('pods run as nobody, write to one volume, and are told nothing of the cluster', () => {
  const { spec } = podOf(helm(CLUSTER))
  const [container] = spec.containers as Json[]
  const mounts = container?.volumeMounts as { name: string; readOnly?: boolean }[]

  assert.equal(spec.automountServiceAccountToken, false)
  assert.equal((spec.securityContext as Json).runAsUser, 10_001)
  assert.equal((container?.securityContext as Json).readOnlyRootFilesystem, true)
  assert.deepEqual(
    mounts.filter(({ readOnly }) => readOnly !== true).map(({ name }) => name),
    ['state'],
  )
})

test('port 7900 is open to pods of the gateway alone, and Redis too', () => {
  const objects = helm(CLUSTER)
  const own = { 'app.kubernetes.io/component': 'gateway' }
  const replicas = objects.get('NetworkPolicy/gateway-replicas')?.spec as Json
  const redis = objects.get('NetworkPolicy/gateway-redis')?.spec as Json
  const clients = objects.get('NetworkPolicy/gateway')?.spec as { ingress: { ports: { port: number }[] }[] }
  const service = objects.get('Service/gateway')?.spec as { ports: { port: number }[] }

  for (const { ingress } of [replicas, redis] as { ingress: { from: Json[] }[] }[])
    for (const { from } of ingress) {
      assert.equal(from.length, 1)
      const { matchLabels } = from[0]?.podSelector as { matchLabels: Json }
      assert.equal(matchLabels['app.kubernetes.io/component'], own['app.kubernetes.io/component'])
    }
  assert.deepEqual(
    clients.ingress.flatMap(({ ports }) => ports.map(({ port }) => port)),
    [8080],
  )
  assert.deepEqual(
    service.ports.map(({ port }) => port),
    [8080],
  )
})

test('values that cannot be are refused: more pods than one without a cluster, unknown names', () => {
  for (const wrong of [
    { replicas: 2 },
    { autoscaling: { enabled: true } },
    { replica: 1 },
    { cluster: { enabled: true, keyId: 'a b' } },
    { shutdown: { delaySeconds: -1 } },
    { image: { pullPolicy: 'Sometimes' } },
  ])
    assert.equal(isValues(merged(defaults, wrong)), false, JSON.stringify(wrong))
  assert.equal(isValues(merged(defaults, { replicas: 3, cluster: { enabled: true } })), true)
})
