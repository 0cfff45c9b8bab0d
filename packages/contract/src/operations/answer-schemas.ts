import { ApiKeyRecord, CreatedApiKey, LoginAnswer, MeAnswer, Profile, UserList, UserRecord } from '../accounts.ts';
import { AuditList, AuditRecord } from '../audit.ts';
import { BatchAnswer, IgnoredAnswer, SendAnswer } from '../collect.ts';
import { SegmentList, SegmentRecord } from '../segments.ts';
import { ResolvedShare, SharedWebsite, ShareList, ShareRecord, ShareTokenRecord } from '../shares.ts';
import {
  ActiveAnswer,
  EventsAnswer,
  ExpandedMetric,
  Metric,
  PageviewsAnswer,
  Series,
  Stats,
  StatsAnswer,
  TimeSeriesPoint,
  WebsiteEvent,
} from '../statistics.ts';
import { CreatedTeam, TeamList, TeamMemberList, TeamMemberRecord, TeamRecord } from '../teams.ts';
import { ReplayConfig, WebsiteList, WebsiteRecord } from '../websites.ts';
import { Done } from './operation.ts';
import { ErrorAnswer, Problem } from './refusals.ts';

/** What answers are made of, by the names that the document gives it. */
export const answerSchemas = {
  ActiveAnswer,
  ApiKeyRecord,
  AuditList,
  AuditRecord,
  BatchAnswer,
  CreatedApiKey,
  CreatedTeam,
  Done,
  ErrorAnswer,
  EventsAnswer,
  ExpandedMetric,
  IgnoredAnswer,
  LoginAnswer,
  MeAnswer,
  Metric,
  PageviewsAnswer,
  Problem,
  Profile,
  ReplayConfig,
  ResolvedShare,
  SegmentList,
  SegmentRecord,
  SendAnswer,
  Series,
  SharedWebsite,
  ShareList,
  ShareRecord,
  ShareTokenRecord,
  Stats,
  StatsAnswer,
  TeamList,
  TeamMemberList,
  TeamMemberRecord,
  TeamRecord,
  TimeSeriesPoint,
  UserList,
  UserRecord,
  WebsiteEvent,
  WebsiteList,
  WebsiteRecord,
};
