import assert from 'node:assert/strict'
import { IncomingMessage, request } from 'node:http'
import { Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { KeyRing } from '../../../../plugins/cluster/key-ring.ts'
import { Vouchers } from '../../../../plugins/cluster/vouchers.ts'
import type { TestGateway } from '../../../../src/testing/index.ts'
import { skip } from '../../../fixtures/redis.ts'
import { KEY, replicas, statusOf } from './setting.ts'

test('clients of a replica whose clock is ten minutes ahead are told to try again', { skip }, async t => {
  const { gateways, ids } = await replicas(t, 2)
  const [here] = gateways
  const place = await entranceOf(here)

  const { status, headers } = await knock(place, voucherOf(t, String(ids[0]), 10))

  assert.deepEqual([status, headers['retry-after']], [503, '1'])
})

test('a proof is good once', { skip }, async t => {
  const { gateways, ids } = await replicas(t, 2)
  const place = await entranceOf(gateways[0])
  const voucher = voucherOf(t, String(ids[0]), 0)

  const statuses = [await knock(place, voucher), await knock(place, voucher)].map(({ status }) => status)

  assert.notEqual(statuses[0], 403)
  assert.equal(statuses[1], 403)
})

/** A proof as a replica writes it whose clock is so many minutes ahead. */
function voucherOf(t: TestContext, to: string, minutes: number): string {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + minutes * 60_000 })
  try {
    const asked = Object.assign(new IncomingMessage(new Socket()), { method: 'POST', url: '/mcp' })
    const handed = { listener: 'main', remoteAddress: undefined }
    return new Vouchers(new KeyRing('gateway', [KEY])).issue(asked, handed, to)
  } finally {
    t.mock.timers.reset()
  }
}

function knock(
  { host, port }: { host: string; port: number },
  voucher: string,
): Promise<{ status: number | undefined; headers: IncomingMessage['headers'] }> {
  return new Promise((resolve, reject) => {
    const sent = request({
      host,
      port,
      path: '/mcp',
      method: 'POST',
      headers: { 'x-tapgate-handed': voucher },
    })
    sent.on('response', answer => {
      answer.resume()
      resolve({ status: answer.statusCode, headers: answer.headers })
    })
    sent.on('error', reject)
    sent.end('{}')
  })
}

async function entranceOf(one: TestGateway | undefined): Promise<{ host: string; port: number }> {
  const { replicas: all = [], self } = await statusOf(one as TestGateway)
  const own = (all as { id: string; address: string }[]).find(({ id }) => id === self)
  const [host = '', port] = own?.address.split(':') ?? []
  return { host, port: Number(port) }
}
