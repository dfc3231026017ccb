import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { directory, gateway } from '../e2e/cli/run.ts'
import { readDockerfile } from './dockerfile.ts'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

interface Service {
  readonly image: string
  readonly build?: { readonly context: string; readonly dockerfile: string }
  readonly user?: string
  readonly read_only?: boolean
  readonly stop_grace_period?: string
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly depends_on?: readonly string[]
}

const compose = parse(read('deploy/compose/compose.yaml'), { merge: true }) as {
  services: Record<string, Service>
}
const replicas = Object.entries(compose.services).filter(([name]) => name.startsWith('gateway-'))

test('every replica of the compose file runs the image as its user, and has time to stop', () => {
  const { shutdown } = parse(read('deploy/compose/gateway.yaml')) as {
    shutdown: { delay: string; grace: string }
  }
  const seconds = (text = '0s'): number => Number.parseInt(text)
  const { stages } = readDockerfile(read('deploy/docker/Dockerfile'))

  assert.equal(replicas.length, 2)
  for (const [name, service] of replicas) {
    assert.equal(service.build?.dockerfile, 'deploy/docker/Dockerfile')
    assert.equal(service.user, stages.at(-1)?.instructions.at(-1)?.text)
    assert.equal(service.read_only, true)
    assert.equal(service.ports, undefined, 'nobody but nginx and other replicas reach it')
    assert.ok(seconds(service.stop_grace_period) >= seconds(shutdown.delay) + seconds(shutdown.grace) + 5)
    assert.equal(service.environment?.REPLICA, name, 'others reach it by the name of its service')
  }
})

test('nginx asks the replicas of the compose file, and passes streams on as they come', () => {
  const text = read('deploy/compose/nginx.conf')
  const asked = [...text.matchAll(/server (gateway-\d):8080/g)].map(([, name]) => name)

  assert.deepEqual(
    asked,
    replicas.map(([name]) => name),
  )
  for (const needed of ['proxy_buffering off', 'proxy_http_version 1.1', 'proxy_set_header Host $http_host'])
    assert.ok(text.includes(needed), needed)
  assert.match(text, /proxy_read_timeout [1-9]\d*h/)
})

test('files that the compose file mounts are there', () => {
  for (const { volumes = [] } of Object.values(compose.services))
    for (const [from = ''] of volumes.map(volume => volume.split(':')))
      if (from.startsWith('./') && from !== './secrets')
        assert.ok(existsSync(fileURLToPath(new URL(`../../deploy/compose/${from}`, import.meta.url))), from)
})

test('the gateway knows the configuration of the compose file', async t => {
  const text = read('deploy/compose/gateway.yaml').replaceAll('/etc/gateway/secrets', '.')
  const key = Buffer.alloc(32, 1).toString('base64')
  const cwd = await directory(t, { 'gateway.yaml': text, 'keys.txt': '', 'cluster-key': key })

  const { code, stderr } = await gateway(['validate'], { cwd, env: { REPLICA: 'gateway-1' } })

  assert.equal(code, 0, stderr)
})
