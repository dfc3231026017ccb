import type { Headers, Way } from './world.ts'

/** One request, and what has to become of it. */
export interface Case {
  readonly what: string
  readonly way: Way
  readonly body: string
  readonly headers: Headers
  /** Stand in the arguments of its calls: what a server got is found by them. */
  readonly marks: readonly string[]
  /** Calls that reach a server; undefined: one or none. */
  readonly passes: number | undefined
  /** The error that refuses it, where there is only one that may. */
  readonly code: number | undefined
}

/** A member as it is written, without its quotes, and its value. */
type Member = readonly [name: string, value: string]

/** A request as it should be, which a row changes. */
interface Draft {
  readonly mark: string
  readonly way: Way
  readonly name: string
  /** A tool of the same server that a filter denies. */
  readonly secret: string
  envelope: Member[]
  params: Member[]
  headers: Headers
  space: string
  wrap: (body: string) => string
  marks?: readonly string[]
}

interface Row {
  readonly what: string
  readonly passes: number | undefined
  readonly change: (draft: Draft) => void
  readonly ways: readonly Way[]
  readonly code: number | undefined
}

const WAYS: readonly Way[] = ['modern', 'legacy', 'rest', 'pipe', 'socket']
const RPC = WAYS.filter(way => way !== 'rest')
const INVALID = -32600
const MISMATCH = -32020
const META = '{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'

type Options = { readonly ways?: readonly Way[]; readonly code?: number }

function row(
  what: string,
  passes: number | undefined,
  change: Row['change'],
  { ways = WAYS, code }: Options = {},
): Row {
  return { what, passes, change, ways, code }
}

/** A row for each value. */
function each<T>(
  what: string,
  passes: number | undefined,
  values: readonly T[],
  change: (draft: Draft, value: T) => void,
  options?: Options,
): Row[] {
  return values.map(value => row(`${what} ${JSON.stringify(value)}`, passes, d => change(d, value), options))
}

const escape = (text: string): string =>
  Array.from(text, letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
const base64 = (value: string): string => `=?base64?${Buffer.from(value).toString('base64')}?=`
const object = (members: readonly Member[], space = ''): string =>
  `{${members.map(([name, value]) => `${space}"${name}"${space}:${space}${value}${space}`).join(',')}}`
const replace = (members: readonly Member[], name: string, value: string): Member[] =>
  members.map(member => (member[0] === name ? [name, value] : member))
const rename = (members: readonly Member[], name: string, other: string): Member[] =>
  members.map(member => (member[0] === name ? [other, member[1]] : member))
const call = (name: string, mark: string, more = ''): string =>
  `{"jsonrpc":"2.0","id":"${mark}","method":"tools/call","params":{"name":"${name}","arguments":{"mark":"${mark}"${more}}}}`

function setHeader(draft: Draft, name: string, value: string | readonly string[] | undefined): void {
  const { [name]: _, ...rest } = draft.headers
  draft.headers = value === undefined ? rest : { ...rest, [name]: value }
}

/** Adds a member in front of the others, or behind them. */
function both(
  what: string,
  passes: number | undefined,
  part: 'envelope' | 'params',
  members: readonly (readonly [name: string, value: (draft: Draft) => string])[],
  options?: Options,
): Row[] {
  return members.flatMap(([name, value]) => [
    row(`${what} ${name}, in front`, passes, d => (d[part] = [[name, value(d)], ...d[part]]), options),
    row(`${what} ${name}, behind`, passes, d => (d[part] = [...d[part], [name, value(d)]]), options),
  ])
}

const secret = (d: Draft): string => JSON.stringify(d.secret)
const secretCall = (d: Draft): string => `{"name":${secret(d)},"arguments":{"mark":"${d.mark}"}}`
const otherArguments = (d: Draft): string => `{"mark":"${d.mark}","other":1}`
const text = (value: string) => (): string => value

const ROWS: readonly Row[] = [
  row('as it should be', 1, () => undefined),
  ...both(
    'twice in the envelope:',
    undefined,
    'envelope',
    [
      ['jsonrpc', text('"2.0"')],
      ['id', text('7')],
      ['method', text('"ping"')],
      ['params', secretCall],
      [escape('method'), text('"ping"')],
      [escape('params'), secretCall],
    ],
    { ways: RPC },
  ),
  ...both('twice in the parameters:', undefined, 'params', [
    ['name', secret],
    ['n\\u0061me', secret],
    ['arguments', otherArguments],
    [escape('arguments'), otherArguments],
  ]),
  ...each('a name twice in the arguments, so deep:', undefined, [0, 3, 19], (d, depth) => {
    const deep = '[{"in":'.repeat(depth) + '{"path":"/a","p\\u0061th":"/b"}' + '}]'.repeat(depth)
    d.params = replace(d.params, 'arguments', `{"mark":"${d.mark}","deep":${deep}}`)
  }),
  ...both(
    'in other letters in the envelope:',
    undefined,
    'envelope',
    [
      ['Method', text('"prompts/get"')],
      ['PARAMS', d => `{"name":${secret(d)}}`],
      ['Id', text('99')],
      ['jsonRPC', text('"1.0"')],
    ],
    { ways: RPC },
  ),
  ...each(
    'alone and in other letters:',
    0,
    ['jsonrpc', 'method'],
    (d, name) => (d.envelope = rename(d.envelope, name, name.toUpperCase())),
    { ways: RPC },
  ),
  ...both(
    'in other letters in the parameters:',
    0,
    'params',
    [
      ['Name', secret],
      ['NAME', secret],
      ['argument\u017f', otherArguments],
      ['Arguments', otherArguments],
      ['URI', secret],
      ['tas\u212aId', secret],
    ],
    { code: INVALID },
  ),
  ...each(
    'a parameter alone and in other letters:',
    0,
    [
      ['name', 'Name'],
      ['name', 'n\\u0041me'],
      ['arguments', 'ARGUMENTS'],
    ],
    (d, [name = '', other = '']) => (d.params = rename(d.params, name, other)),
    { code: INVALID },
  ),
  ...each(
    'a reference that also has',
    0,
    ['Name', 'NAME', 'Uri', 'Type'],
    (d, name) => {
      const ref: Member[] = [
        ['type', '"ref/prompt"'],
        ['name', '"web__open"'],
        [name, '"web__secret"'],
      ]
      const meta = d.params.filter(([each]) => each === '_meta')
      d.envelope = replace(d.envelope, 'method', '"completion/complete"')
      d.params = [['ref', object(ref)], ['argument', `{"name":"a","value":"${d.mark}"}`], ...meta]
      if (d.way === 'modern') d.headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'completion/complete' }
    },
    { ways: RPC },
  ),
  ...each(
    'a tool by a name like',
    0,
    [
      ...['web__\u017fecret', 'web__Secret', 'WEB__secret', 'web__secret ', ' web__secret', 'web__secret\\u0000'],
      ...['web__\u0455ecret', 'web__\\u0073ecret', 'web__secret', 'old__\\u0073ecret', 'web\\u005f\\u005fsecret'],
      ...['secret', 'open'],
    ],
    (d, name) => {
      d.params = replace(d.params, 'name', `"${name}"`)
      if (d.way === 'modern') setHeader(d, 'mcp-name', base64(JSON.parse(`"${name}"`) as string))
    },
  ),
  ...each(
    'a header against the body:',
    0,
    [
      ...['tools/list', 'Tools/Call', 'tool\u00df/call', base64('tools/call'), '', undefined].map(
        value => ['mcp-method', () => value] as const,
      ),
      ...[
        () => 'web__secret',
        (name: string) => name.toUpperCase(),
        () => base64('web__secret'),
        (name: string) => base64(name).toUpperCase(),
        (name: string) => `=?BASE64?${Buffer.from(name).toString('base64')}?=`,
        (name: string) => base64(base64(name)),
        (name: string) => `${base64(name)}, web__secret`,
        () => '',
        () => undefined,
      ].map(value => ['mcp-name', value] as const),
      ['mcp-protocol-version', () => '2025-11-25'],
      ['mcp-protocol-version', () => '2026-07-28, 2025-11-25'],
    ] as readonly (readonly [string, (name: string) => string | undefined])[],
    (d, [header, value]) => setHeader(d, header, value(d.name)),
    { ways: ['modern'], code: MISMATCH },
  ),
  ...each(
    'a header twice:',
    0,
    ['mcp-method', 'mcp-name', 'mcp-protocol-version'],
    (d, header) => setHeader(d, header, [String(d.headers[header] ?? 'tools/call'), 'web__secret']),
    { ways: ['modern', 'legacy'], code: INVALID },
  ),
  ...each(
    'a name in the header as',
    1,
    [base64, (name: string) => `  ${name}`, (name: string) => `${base64(name)} \t`],
    (d, form) => setHeader(d, 'mcp-name', form(d.name)),
    { ways: ['modern'] },
  ),
  row(
    'headers of the new era on a request of the old',
    undefined,
    d => (d.headers = { 'mcp-method': 'tools/list', 'mcp-name': 'web__secret' }),
    { ways: ['legacy'] },
  ),
  ...each('parameters that are', 0, ['[CALL]', '[]', '"CALL"', '7', 'true', 'null'], (d, other) => {
    const whole = object(d.params)
    d.wrap = body => body.replace(whole, () => other.replace('CALL', secretCall(d)).replace('"{', '{'))
  }),
  ...each('arguments that are', undefined, ['["MARK"]', '"MARK"', 'null'], (d, other) => {
    d.params = replace(d.params, 'arguments', other.replace('MARK', d.mark))
  }),
  row(
    'a batch in the legacy era',
    3,
    d => {
      const marks = ['a', 'b', 'c', 'd'].map(letter => `${d.mark}${letter}-`) as [string, string, string, string]
      d.marks = marks
      const calls = [
        call('web__open', marks[0]),
        call('web__secret', marks[1]),
        call('old__raw', marks[2]),
        call('web__open', marks[3], ',"x":1,"\\u0078":2'),
      ]
      d.wrap = () => `[${calls.join(' , ')}]`
    },
    { ways: ['legacy', 'pipe'] },
  ),
  row('escapes in the names of members', 1, d => {
    d.envelope = d.envelope.map(([name, value]) => [escape(name), value])
    d.params = d.params.map(([name, value]) => [escape(name), value])
  }),
  ...each('escapes in values:', 1, ['tools\\/call', escape('tools/call')], (d, method) => {
    d.params = replace(d.params, 'name', `"${escape(d.name)}"`)
    d.envelope = replace(replace(d.envelope, 'method', `"${method}"`), 'jsonrpc', '"\\u0032.0"')
  }),
  ...each(
    'a method like',
    0,
    ['Tools/Call', 'tool\u017f/call', 'tools/call ', 'tools/call\\u0000', 'tools//call', 'TOOLS/CALL'],
    (d, method) => (d.envelope = replace(d.envelope, 'method', `"${method}"`)),
    { ways: RPC },
  ),
  row('a byte order mark', undefined, d => (d.wrap = body => `\ufeff${body}`)),
  ...each(
    'a name that objects have by themselves:',
    1,
    ['__proto__', 'constructor', 'toString', 'hasOwnProperty'],
    (d, name) => (d.params = replace(d.params, 'arguments', `{"${name}":{"mark":"x"},"mark":"${d.mark}"}`)),
  ),
  ...each(
    'a parameter that objects have by themselves:',
    1,
    ['__proto__', 'constructor'],
    (d, name) => (d.params = [[name, `{"name":${secret(d)}}`], ...d.params]),
    { ways: RPC },
  ),
  row('numbers that readers take differently', 1, d => {
    const numbers = '9007199254740993 , 1e400,-0,1.50,0.1000000000000000055,1234567890123456789'
    d.params = replace(d.params, 'arguments', `{"n":[${numbers}],"mark":"${d.mark}"}`)
  }),
  row('arguments whose names differ in their letters', 1, d => {
    const members = `"path":1,"Path":2,"PATH":3,"\u212aey":4,"key":5,"mark":"${d.mark}"`
    d.params = replace(d.params, 'arguments', `{${members}}`)
  }),
  row(
    'another tool in headers',
    1,
    d =>
      (d.headers = {
        'mcp-name': 'web__secret',
        'mcp-method': 'tools/list',
        'x-http-method-override': 'GET',
      }),
    { ways: ['rest'] },
  ),
]

/** Each row over two of its ways, so that all rows together go over every way. */
export function casesOf(): Case[] {
  return ROWS.flatMap(({ what, passes, change, ways, code }, n) =>
    [...new Set([n, n + 1 + Math.floor(n / ways.length)].map(at => ways[at % ways.length] as Way))].map(way => {
      const draft = draftOf(`mark-${n}-${way}-`, way, n % 2 === 0 ? 'web__open' : 'old__raw')
      change(draft)
      const { envelope, params, headers, space, wrap, mark, marks = [mark] } = draft
      const inner = object(params, space)
      const body = wrap(way === 'rest' ? inner : object([...envelope, ['params', inner]], space))
      return { what, way, body, headers, marks, passes, code }
    }),
  )
}

function draftOf(mark: string, way: Way, name: string): Draft {
  const isModern = way === 'modern' || way === 'socket'
  return {
    mark,
    way,
    name,
    secret: `${name.slice(0, 3)}__secret`,
    envelope: [
      ['jsonrpc', '"2.0"'],
      ['id', `"${mark}"`],
      ['method', '"tools/call"'],
    ],
    params: [
      ['name', JSON.stringify(name)],
      ['arguments', `{"mark":"${mark}","n":7}`],
      ...(isModern ? [['_meta', META] as const] : []),
    ],
    headers:
      way === 'modern' ? { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name } : {},
    space: '',
    wrap: body => body,
  }
}
