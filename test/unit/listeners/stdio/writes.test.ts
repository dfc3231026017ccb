import assert from 'node:assert/strict'
import { Writable, PassThrough } from 'node:stream'
import { test } from 'node:test'
import { LineChannel } from '../../../../src/listeners/stdio/stdio-listener.ts'
import { ByteText, type EncodedMessage } from '../../../../src/util/messages.ts'

/** A channel, and the bytes that come out of it with the number of writes that they took. */
function channel(): { lines: LineChannel; written: Buffer[] } {
  const written: Buffer[] = []
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk)
      done()
    },
  })
  return { lines: new LineChannel(new PassThrough(), output), written }
}

const byteText = (text: string): ByteText => new ByteText(Buffer.from(text).toString('latin1'))
const large = Buffer.from(JSON.stringify({ large: 'ü'.repeat(40_000) }))

test('messages of one turn leave in the order in which they were written, whatever they are made of', async () => {
  const { lines, written } = channel()
  const messages: [EncodedMessage, string][] = [
    [byteText('{"a":"ä€😀"}'), '{"a":"ä€😀"}'],
    ['{"b":"ö€😀"}', '{"b":"ö€😀"}'],
    [[Buffer.from('{"c":'), large, Buffer.from('}')], `{"c":${large.toString()}}`],
    [Buffer.from('{"d":"ü"}'), '{"d":"ü"}'],
    ['{"e":1}', '{"e":1}'],
    [byteText('{"f":"é"}'), '{"f":"é"}'],
  ]

  for (const [message] of messages) lines.write(message)
  await lines.waitForDrain()

  assert.equal(Buffer.concat(written).toString(), messages.map(([, text]) => `${text}\n`).join(''))
})

test('a message with line ends between its values is one line', async () => {
  const { lines, written } = channel()

  lines.write(byteText('{\r\n"a":\n1}'))
  lines.write(Buffer.from('{\r\n"b":\n2}'))
  await lines.waitForDrain()

  assert.equal(Buffer.concat(written).toString(), '{  "a": 1}\n{  "b": 2}\n')
})
