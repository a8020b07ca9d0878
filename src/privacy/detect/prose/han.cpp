// prose: the Chinese word lists, ours, and their lookup.
#include "privacy/detect/prose/han.h"
#include <algorithm>
#include <array>
#include <string>
#include <vector>
#include "privacy/detect/prose/model.h"

namespace {

constexpr uint32_t first_code = 0x3000, n_codes = 0xa000 - first_code;
constexpr size_t longest_term = 6;

struct List { uint32_t classes; std::string_view words; };

// One character each.
constexpr List characters[] = {
    {han_surname, "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩邓冯曹彭曾肖萧田董潘袁蔡蒋余于杜叶程魏苏吕丁任卢姚沈钟姜崔谭陆范汪廖石金韦贾夏付傅方邹熊白孟秦邱侯江尹薛闫阎段雷龙黎史陶贺毛"
                  "郝顾龚邵万覃武钱戴严莫孔向常汤康易乔赖文庄施洪柯倪章欧简纪凌温俞葛连颜翁詹游涂童阮齐岳梅左申关管祝柳古宁鲁毕骆路霍焦包辛裴曲靳祁项牛翟景阳单吉柴殷房艾尚解饶甘屈耿娄巫池蓝沙季成卓卜谷"
                  "麦车苗符穆华应聂宫符谈佟仇晏缪邬费储冉粘官佘蒲栾臧瞿狄冷鲍边湛邝尤元商时桂"},
    {han_short_title, "董总哥姐叔嫂爷妈爸婶伯姨师医"},
    {han_function, "的了是在有和与及或也都就不没很这那哪他她它们我你您吗呢吧啊呀嘛被把给让从到对向为于以而且但若如则又再还已将会能可要想去来说看做用着过等跟同请问找叫个之其此每各并因所该当"},
    {han_region_unit, "省市县区乡镇村里邻州旗"},
    {han_road_unit, "路街道巷弄段胡"},
    {han_number_unit, "号楼室栋层座弄巷段邻之栋户房"},
    {han_given, "明伟芳娜敏静丽强磊军洋勇艳杰娟涛超秀霞平刚桂英华玉萍红玲芬燕梅兰珍莉琴素云莲真环雪荣爱妹香月莺媛瑞凡佳嘉琼勤珠贞莹茹晶妍茜秋珊莎锦黛青倩婷姣婉娴瑾颖露瑶怡婵雁蓓纨仪荷丹蓉眉君蕊薇菁梦岚苑"
                "婕馨瑗琰韵融园艺咏卿聪澜纯毓悦昭冰爽琬茗羽希宁欣飘育滢馥筠柔竹霭凝晓欢霄枫芸菲寒伊亚宜可姬舒影荔枝思俊峰辉建国志文斌博宇浩轩泽洪雨辰子涵皓天翔龙鹏飞凯鑫宏哲豪家铭冠承恩宗翰彦廷柏品妤诗涵怡君雅雯淑"
                "惠美惠贤德义仁礼智信达康健安邦民富贵福禄寿喜庆祥春夏秋冬东南西北山海江河川林森木火土金水石玉光新兴旺成功胜利永长久远大小中立正良善诚忠孝悌"},
    {han_digit, "〇零一二三四五六七八九十百千两"},
    {han_currency, "元圆块角"},
    {han_nick, "小老阿"},
    {han_transliteration, "尔斯克特德夫拉里罗马卡尼亚娜莉丽莎伊艾安杰约翰汉彼得保大卫迈克史密斯威廉姆森逊顿布朗琼戴维莱茜珍妮弗蒂芙奥巴伯纳托雷诺索洛维奇基耶普塞萨帕波科古哈霍瓦沃韦兹芬菲格根吉金凯肯劳勒利林卢鲁路蒙米摩莫穆内尼努欧佩皮契恰乔切琼瑞瑟舍什施苏塔泰坦汤蒂图沙夏希谢休叶因英尤赞泽扎朱"},
};

// Terms of two or more characters, separated by spaces.
constexpr List terms[] = {
    {han_surname, "欧阳 司马 诸葛 上官 端木 司徒 慕容 令狐 尉迟 夏侯 皇甫 公孙 东方 南宫 轩辕 宇文 长孙 独孤 百里 西门 申屠 钟离 闻人 呼延 太史 澹台 公冶 宗政 濮阳 淳于 单于 鲜于 闾丘 司空 亓官 拓跋 完颜 纳兰 "
                  "范姜 张简 张廖 北堂 南门 公羊 赫连 万俟 东郭 梁丘 第五 左丘 叶赫"},
    {han_title, "先生 小姐 女士 太太 老师 经理 医师 医生 教授 同学 护士 护理师 主任 总经理 董事长 总监 主管 组长 课长 科长 处长 部长 局长 院长 校长 律师 法官 警官 工程师 会计师 司机 师傅 阿姨 叔叔 伯伯 大哥 大姐 姐姐 哥哥 "
                "奶奶 爷爷 妈妈 爸爸 店长 队长 厂长 班长 院士 博士 导演 教练 秘书 助理 专员 特助 副总 老板 老板娘 同志 夫人 里长 村长 市长 县长 议员 委员 立委 主席 总统 省长 书记 检察官 心理师 药师 营养师 设计师 客服 牧师 神父 大夫 同仁 君"},
    {han_short_title, "老师 总裁 董事 经理 主任 妈妈 爸爸 阿姨"},
    {han_introducer, "姓名 我叫 名叫 我是 我姓 叫做 联络人 联系人 收件人 收货人 寄件人 患者 病人 病患 申请人 负责人 持卡人 被保险人 要保人 受益人 投保人 保险人 户名 签名 签署人 签字 当事人 承办人 经办人 代理人 监护人 紧急联络人 "
                     "紧急联系人 订购人 购买人 乘客姓名 客户姓名 员工姓名 学生姓名 患者姓名 病人姓名 真实姓名 中文姓名 名字 名字是 本名 委托人 受托人 原告 被告 证人 嫌犯 嫌疑人 作者 记者 讲师 主持人 审核人 填表人 报案人 申报人 "
                     "房东 租客 承租人 出租人 甲方 乙方 法定代表人 法人代表 主治医师 主治医生 医师姓名 当事人姓名 客户名称 联络人姓名 收件者 寄件者 发件人 抄送 参与者 与会者 出席者 报名者 会员 员工 姓氏 称呼"},
    {han_role, "同事 客户 朋友 老板 员工 室友 邻居 同学 老公 老婆 先生 太太 丈夫 妻子 儿子 女儿 父亲 母亲 爸爸 妈妈 哥哥 姐姐 弟弟 妹妹 表哥 表姐 堂弟 学生 助理 秘书 经理 主任 医师 医生 教授 律师 顾客 会员 用户 住户 业主 司机 "
               "护理师 护士 请找 麻烦 联络 联系 通知 转告 感谢 谢谢 致电 拜访 介绍 认识 邀请 约了 遇到 见到 问过 前男友 前女友 男友 女友 男朋友 女朋友 主管 组长 课长 负责 由于 班长 队友 实习生 新人 工程师 设计师 业务 亲爱的"},
    {han_province, "北京 上海 天津 重庆 台北 新北 桃园 台中 台南 高雄 基隆 新竹 嘉义 苗栗 彰化 南投 云林 屏东 宜兰 花莲 台东 澎湖 金门 香港 九龙 新界 澳门 河北 山西 辽宁 吉林 黑龙江 江苏 浙江 安徽 福建 江西 山东 河南 湖北 湖南 广东 海南 "
                   "四川 贵州 云南 陕西 甘肃 青海 台湾 内蒙古 广西 西藏 宁夏 新疆 广州 深圳 杭州 南京 苏州 成都 武汉 西安 郑州 长沙 青岛 大连 沈阳 厦门 宁波 无锡 佛山 东莞 合肥 福州 济南 哈尔滨 长春 昆明 南宁 贵阳 太原 石家庄 南昌 兰州 温州 珠海 "
                   "台北市 新北市 台中市 高雄市 北京市 上海市"},
    {han_road_unit, "大道 大街 胡同 公路 环路"},
    {han_number_unit, "号楼 单元 号之 门牌"},
    {han_organisation, "股份有限公司 有限责任公司 有限公司 公司 集团 银行 医院 大学 学院 中学 小学 国小 国中 高中 研究院 研究所 基金会 协会 学会 委员会 法院 派出所 事务所 出版社 电视台 报社 诊所 工作室 企业 实验室 幼儿园 图书馆 博物馆 科技 证券 保险 药厂 工厂 局 厅"},
    {han_condition, "糖尿病 高血压 高血脂 心脏病 癌症 乳癌 乳腺癌 肺癌 肝癌 胃癌 大肠癌 肠癌 血癌 白血病 淋巴癌 肝炎 乙肝 丙肝 艾滋病 爱滋病 爱滋 艾滋 梅毒 淋病 疱疹 菜花 忧郁症 抑郁症 抑郁 焦虑症 躁郁症 双相障碍 双相情感障碍 精神分裂 精神分裂症 思觉失调 思觉失调症 自闭症 "
                    "过动症 强迫症 恐慌症 失智症 痴呆 阿兹海默症 阿尔茨海默 帕金森 帕金森氏症 中风 癫痫 气喘 哮喘 肺结核 肺炎 肾衰竭 尿毒症 洗肾 红斑性狼疮 红斑狼疮 类风湿 关节炎 痛风 甲状腺 甲状腺亢进 不孕 不孕症 流产 怀孕 堕胎 厌食症 暴食症 酒瘾 毒瘾 自杀 自残 肿瘤 恶性肿瘤 肝硬化 "
                    "骨质疏松 青光眼 白内障 心肌梗塞 心肌梗死 冠心病 血栓 新冠 新冠肺炎 确诊者 阳性 带原者 贫血 胃溃疡 溃疡 偏头痛 湿疹 过敏 失眠 失眠症 创伤后压力症候群 子宫内膜异位 子宫肌瘤 乳腺炎 罕见疾病 罕病 多发性硬化 渐冻症 唐氏症"},
    {han_care, "确诊 诊断 罹患 患有 患上 得了 被诊断 服用 服药 用药 处方 病史 病历 住院 手术 化疗 放疗 透析 看诊 就诊 复诊 挂号 治疗 心理咨商 心理咨询 心理治疗 精神科 身心科 肿瘤科 妇产科 抗忧郁药 抗抑郁药 安眠药 胰岛素 二甲双胍 百忧解 病情 症状 病症 康复 戒断 身心障碍 残障 残疾 感染 病危 安宁病房"},
    {han_speech, "表示 指出 认为 告诉 回复 回答 提到 提议 负责 已经 昨天 今天 明天 说过 说道 写道 来电 打来"},
    {han_address_label, "地址 住址 住在 家住 居住 户籍 寄到 送到 位于 通讯处 通信地址 收货地址 送货地址 联络地址 现居 搬到 戶籍地 住"},
    {han_currency, "万元 亿元 美元 美金 台币 新台币 人民币 日圆 日元 欧元 英镑 港币 港元"},
};

struct Terms {
  struct Term { std::array<uint32_t, longest_term> codes{}; uint32_t n = 0, classes = 0; };
  std::vector<uint16_t> to_simplified;   // by code - first_code; 0: itself
  std::vector<uint32_t> classes;         // of characters
  std::vector<Term> all;                 // sorted by the first two characters, longest first
  std::vector<uint32_t> heads;           // open addressing of pairs of characters: index + 1 into `all`
  static constexpr size_t n_heads = 4096;

  Terms() : to_simplified(n_codes), classes(n_codes), heads(n_heads) {
    const auto traditional = prose_model().traditional;
    for (size_t i = 0; i + 1 < traditional.size(); i += 2) {
      if (traditional[i] >= first_code && traditional[i] < first_code + n_codes && traditional[i + 1] < 0x10000)
        to_simplified[traditional[i] - first_code] = static_cast<uint16_t>(traditional[i + 1]);
    }
    for (const List& list : characters) {
      for (size_t at = 0; at < list.words.size();) {
        const Character c = character_at(list.words, at);
        if (c.code >= first_code && c.code < first_code + n_codes) classes[c.code - first_code] |= list.classes;
        at += c.size;
      }
    }
    for (const List& list : terms) add(list);
    build();
  }
  uint32_t simple(uint32_t code) const {
    if (code < first_code || code >= first_code + n_codes) return code;
    const uint16_t other = to_simplified[code - first_code];
    return other != 0 ? other : code;
  }
  void add(const List& list) {
    Term term{.n = 0, .classes = list.classes};
    const auto flush = [&] {
      if (term.n == 1) classes[term.codes[0] - first_code] |= list.classes;
      if (term.n >= 2) all.push_back(term);
      term = {.n = 0, .classes = list.classes};
    };
    for (size_t at = 0; at < list.words.size();) {
      const Character c = character_at(list.words, at);
      if (c.code == ' ') flush();
      else if (term.n < longest_term) term.codes[term.n++] = simple(c.code);
      at += c.size;
    }
    flush();
  }
  static uint32_t head(uint32_t a, uint32_t b) { return (a * 0x9e3779b1u ^ b * 0x85ebca6bu) >> 20; }
  void build() {
    std::sort(all.begin(), all.end(), [](const Term& a, const Term& b) {
      if (a.codes[0] != b.codes[0]) return a.codes[0] < b.codes[0];
      if (a.codes[1] != b.codes[1]) return a.codes[1] < b.codes[1];
      if (a.n != b.n) return a.n > b.n;
      return a.codes < b.codes;
    });
    for (size_t i = 0; i < all.size(); ++i) {
      if (i > 0 && all[i - 1].codes[0] == all[i].codes[0] && all[i - 1].codes[1] == all[i].codes[1]) continue;
      size_t at = head(all[i].codes[0], all[i].codes[1]);
      while (heads[at] != 0) at = (at + 1) % n_heads;
      heads[at] = static_cast<uint32_t>(i + 1);
    }
  }
  HanTerm find(const Tokens& tokens, size_t at) const {
    if (!is_han(tokens, at) || !is_han(tokens, at + 1)) return {};
    const uint32_t a = tokens[at].hash, b = tokens[at + 1].hash;
    for (size_t slot = head(a, b); heads[slot] != 0; slot = (slot + 1) % n_heads) {
      size_t i = heads[slot] - 1;
      if (all[i].codes[0] != a || all[i].codes[1] != b) continue;
      HanTerm best;
      for (; i < all.size() && all[i].codes[0] == a && all[i].codes[1] == b; ++i) {
        if (best.n > all[i].n) break;
        size_t k = 2;
        while (k < all[i].n && is_han(tokens, at + k) && tokens[at + k].hash == all[i].codes[k]) ++k;
        if (k == all[i].n) best = {k, best.classes | all[i].classes};
      }
      return best;
    }
    return {};
  }
};

const Terms& han_terms() {
  static const Terms terms;
  return terms;
}

}  // namespace

uint32_t simplified(uint32_t code) { return han_terms().simple(code); }

uint32_t han_character_classes(uint32_t code) { return code >= first_code && code < first_code + n_codes ? han_terms().classes[code - first_code] : 0; }

HanTerm han_term(const Tokens& tokens, size_t at) { return han_terms().find(tokens, at); }

HanTerm han_term_before(const Tokens& tokens, size_t end, uint32_t classes) {
  for (size_t n = std::min(longest_term, end); n >= 2; --n) {
    const HanTerm term = han_term(tokens, end - n);
    if (term.n == n && (term.classes & classes) != 0) return term;
  }
  return {};
}

bool han_ordinary(const Tokens& tokens, size_t at, size_t n) {
  std::array<uint32_t, 4> codes{};
  if (n < 2 || n > codes.size()) return false;
  for (size_t i = 0; i < n; ++i) {
    if (!is_han(tokens, at + i)) return false;
    codes[i] = tokens[at + i].hash;
  }
  return prose_model().han_word(han_word_key(codes.data(), n));
}
